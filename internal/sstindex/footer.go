// SPDX-License-Identifier: Apache-2.0

package sstindex

import (
	"encoding/binary"
	"fmt"
)

const (
	magicLevelDB = "\x57\xfb\x80\x8b\x24\x75\x47\xdb"
	magicRocksDB = "\xf7\xcf\xf4\x85\xb7\x41\xe2\x88"
	magicPebble  = "\xf0\x9f\xaa\xb3\xf0\x9f\xaa\xb3"

	magicLen   = 8
	versionLen = 4
	crcLen     = 4
	attrLen    = 4
	handlesLen = 4 * binary.MaxVarintLen64 // room for two handles

	footerLevelDB = handlesLen + magicLen
	footerPlain   = 1 + handlesLen + versionLen + magicLen
	footerCRC     = footerPlain + crcLen
	footerAttr    = footerCRC + attrLen

	versionRocksDB = 2
	// The versions of Pebble that changed what is read here.
	firstColumnarIndex = 5
	firstColumnarMeta  = 6
	firstAttributes    = 7
	lastVersion        = 7

	checksumCRC = 1
	// lastChecksum is the newest kind that any of the formats defines.
	lastChecksum = 4
)

// footer is what a table's last bytes say.
type footer struct {
	len          int
	columnar     bool // index blocks
	columnarMeta bool
	checksum     byte
	meta, index  Handle
}

// kind tells the footer's form from the last bytes of a file.
func kind(tail []byte) (f footer, err error) {
	if len(tail) < footerLevelDB {
		return f, fmt.Errorf("%w: %d bytes are no table", ErrFormat, len(tail))
	}
	magic := tail[len(tail)-magicLen:]
	version := binary.LittleEndian.Uint32(tail[len(tail)-magicLen-versionLen:])
	switch {
	case string(magic) == magicLevelDB:
		f.len = footerLevelDB
		return f, nil
	case string(magic) == magicRocksDB && version == versionRocksDB:
		f.len = footerPlain
	case string(magic) == magicPebble && version >= 1 && version <= lastVersion:
		f.columnar = version >= firstColumnarIndex
		f.columnarMeta = version >= firstColumnarMeta
		switch {
		case version >= firstAttributes:
			f.len = footerAttr
		case f.columnarMeta:
			f.len = footerCRC
		default:
			f.len = footerPlain
		}
	case string(magic) == magicRocksDB || string(magic) == magicPebble:
		return f, fmt.Errorf("%w: version %d", ErrFormat, version)
	default:
		return f, fmt.Errorf("%w: magic number %x", ErrFormat, magic)
	}
	if len(tail) < f.len {
		return f, fmt.Errorf("%w: %d bytes, shorter than its footer", ErrFormat, len(tail))
	}
	return f, nil
}

// parseFooter reads the footer of a file of that size from its last bytes.
func parseFooter(tail []byte, size int64) (footer, error) {
	f, err := kind(tail)
	if err != nil {
		return f, err
	}
	b := tail[len(tail)-f.len:]
	f.checksum = checksumCRC
	if f.len >= footerCRC {
		at := f.len - magicLen - versionLen - crcLen
		sum := update(update(0, b[:at]), b[at+crcLen:])
		if mask(sum) != binary.LittleEndian.Uint32(b[at:]) {
			return f, corrupt("checksum of the footer")
		}
	}
	if f.len != footerLevelDB {
		if f.checksum = b[0]; f.checksum > lastChecksum {
			return f, corrupt("unknown kind of checksum")
		}
		b = b[1:]
	}
	b = b[:handlesLen]
	limit := size - int64(f.len)
	var n, m int
	if f.meta, n = parseHandle(b, limit); n == 0 {
		return f, corrupt("handle of the metaindex")
	}
	if f.index, m = parseHandle(b[n:], limit); m == 0 {
		return f, corrupt("handle of the index")
	}
	return f, nil
}
