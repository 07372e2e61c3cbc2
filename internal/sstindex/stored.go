// SPDX-License-Identifier: Apache-2.0

package sstindex

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"math/bits"
	"sync"
)

// Decompress returns a block's contents, given its type byte (the compression
// indicator as stored) and the stored bytes without the trailer. It must refuse
// more than max bytes, and keep no reference to src, which is reused. It is called
// by many goroutines at once, and never for blocks that are stored uncompressed
// (indicator 0).
type Decompress func(indicator byte, src []byte, max int) ([]byte, error)

const uncompressed = 0

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// update continues a CRC-32C.
func update(crc uint32, b []byte) uint32 { return crc32.Update(crc, castagnoli, b) }

// mask makes the stored form of a CRC-32C.
func mask(crc uint32) uint32 { return bits.RotateLeft32(crc, -15) + 0xa282ead8 }

// store reads blocks as they are stored in one table.
type store struct {
	end        int64 // of the blocks: where the footer begins
	checksum   byte
	decompress Decompress
}

// read returns the contents of a block, in memory of their own.
func (s *store) read(r io.ReaderAt, h Handle) ([]byte, error) {
	if h.Off < 0 || h.Len < trailerLen || h.Off > s.end || h.Len > s.end-h.Off {
		return nil, corrupt("a block lies outside the file")
	}
	if h.Len > MaxBlock+trailerLen {
		return nil, corrupt("a block is too large to read")
	}
	buf := scratch(int(h.Len))
	defer release(buf)
	b := *buf
	if err := readFull(r, b, h.Off); err != nil {
		return nil, err
	}
	n := len(b) - trailerLen
	if s.checksum == checksumCRC && mask(update(0, b[:n+1])) != binary.LittleEndian.Uint32(b[n+1:]) {
		return nil, corrupt("checksum of a block")
	}
	if b[n] == uncompressed {
		return bytes.Clone(b[:n:n]), nil
	}
	if s.decompress == nil {
		return nil, corrupt("a block is compressed, and nothing given to decompress it")
	}
	limit := maxContents(n)
	data, err := s.decompress(b[n], b[:n:n], limit)
	if err != nil {
		return nil, fmt.Errorf("%w: decompress: %w", ErrCorrupt, err)
	}
	if len(data) > limit {
		return nil, corrupt("a block decompresses to too much")
	}
	return data, nil
}

// readFull fills b, or fails.
func readFull(r io.ReaderAt, b []byte, off int64) error {
	n, err := r.ReadAt(b, off)
	if n == len(b) {
		return nil // with or without io.EOF
	}
	if err == nil || err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("sstindex: read %d bytes at %d: %w", len(b), off, err)
}

// tailReader has the file's last bytes, from off on, in memory.
type tailReader struct {
	io.ReaderAt
	tail []byte
	off  int64
}

// ReadAt reads from memory what lies there entirely.
func (t tailReader) ReadAt(b []byte, off int64) (int, error) {
	if off >= t.off && off-t.off <= int64(len(t.tail)-len(b)) {
		return copy(b, t.tail[off-t.off:]), nil
	}
	return t.ReaderAt.ReadAt(b, off)
}

var pool = sync.Pool{New: func() any { return new([]byte) }}

// scratch is a buffer of n bytes, to be released.
func scratch(n int) *[]byte {
	p := pool.Get().(*[]byte)
	if cap(*p) < n {
		*p = make([]byte, n)
	}
	*p = (*p)[:n]
	return p
}

// release takes a buffer back.
func release(p *[]byte) {
	if cap(*p) <= maxPooled {
		pool.Put(p)
	}
}
