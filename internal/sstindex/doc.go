// SPDX-License-Identifier: Apache-2.0

// Package sstindex reads the index of sorted tables (SSTables): given a key, in
// which bytes of the file its data block lies. It knows the tables of LevelDB, of
// RocksDB (version 2) and of Pebble (versions 1 to 7), reads no data blocks and
// no properties, and trusts nothing: every length is bounded before it is used,
// and a damaged file gives an error, never a panic.
//
// All numbers are little-endian. "varint" is LEB128, as of encoding/binary. A
// handle is two varints, a block's offset and its length without the trailer.
//
// The file ends with the footer; its last 8 bytes tell which one. Offsets are
// from the footer's start:
//
//	bytes                LevelDB  RocksDB, v1..v5   v6      v7
//	checksum kind          -          0              0       0
//	handle of metaindex    0          1              1       1
//	handle of index        behind the metaindex's; both padded with zeros
//	attributes             -          -              -      41..44
//	checksum of footer     -          -             41..44  45..48
//	version                -         41..44         45..48  49..52
//	magic                 40..47     45..52         49..56  53..60
//
// The footer's checksum is of all its other bytes. The attributes are not needed.
//
// A block, as stored:
//
//	0..n-1     contents, compressed or not
//	n          how they are compressed, 0: not at all
//	n+1..n+4   checksum of the n+1 bytes before
//
// A checksum of kind 1 is CRC-32C, rotated right by 15 bits, plus 0xa282ead8.
// Checksums of other kinds (xxHash and its kin) are not verified.
//
// A row block (every block up to v4, the metaindex of v5) is entries, and behind
// them the offsets, 4 bytes each, of the entries that share nothing with the one
// before, and how many those are, 4 bytes. An entry:
//
//	varint   n bytes of the previous entry's key that begin this key too
//	varint   length of the rest of the key
//	varint   length of the value
//	...      rest of the key, value
//
// In an index no key shares anything. A key is a user key and 8 bytes that are
// not needed, the value a handle and, behind it, properties.
//
// A columnar block (the index from v5, the metaindex from v6):
//
//	0          1, the version
//	1..2       number of columns
//	3..6       number of rows
//	7+5c       kind of column c: 2 integers, 3 byte strings
//	8+5c..11+5c  offset of column c
//	...        the columns, one right behind the other
//	last byte  padding
//
// A column without rows is empty. A column of integers:
//
//	0          width w of 0, 1, 2, 4 or 8 bytes; with bit 7 set, a base follows
//	1..8       the base, added to each integer, if any
//	...        zeros until the offset in the block is a multiple of w
//	...        the integers; with w=0 all are 0
//
// A column of n byte strings is a column of n+1 integers, where each string begins
// and the last one ends, without base, followed by the strings' bytes.
//
// The columns of an index are separators (user keys), offsets, lengths,
// properties; those of the metaindex keys and values (handles).
//
// Whether an index has one level or two is not read from the properties: the first
// data block lies at offset 0 and an index partition never does, so an index whose
// first entry points to offset 0 has one level, any other has two. The attributes
// of v7 say the same.
package sstindex
