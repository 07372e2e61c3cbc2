// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"

	"github.com/predictio/predictio"
)

func TestScanCounts(t *testing.T) {
	path := testDatabase(t)
	for _, c := range []struct {
		buckets         []string
		rows, inBuckets int64
	}{
		{nil, testRows + 2, 4},
		{[]string{"a"}, testRows, 1},
		{[]string{"b"}, 2, 3},
		{[]string{"b/c"}, 1, 1},
		{[]string{"b/host/name", "a"}, testRows + 1, 2},
	} {
		var crc string
		for _, mode := range []string{"predictio", "bare"} {
			args := append([]string{"scan", "--json", "--mode", mode, path}, c.buckets...)
			var r scanReport
			decode(t, succeed(t, args...), &r)
			if r.Rows != c.rows || r.Buckets != c.inBuckets || r.Mode != mode || r.KeysOnly || r.Cold {
				t.Errorf("%v: %+v, want %d rows in %d buckets", args, r, c.rows, c.inBuckets)
			}
			if crc == "" {
				crc = r.CRC32C
			} else if r.CRC32C != crc {
				t.Errorf("%v: crc32c %s, the other mode has %s", args, r.CRC32C, crc)
			}
			if (r.Prefetch != nil) != (mode == "predictio") {
				t.Errorf("%v: prefetch %+v", args, r.Prefetch)
			}
		}
	}
}

func TestScanKeysReadsNoValues(t *testing.T) {
	path := testDatabase(t)
	for _, mode := range []string{"predictio", "bare"} {
		var r scanReport
		decode(t, succeed(t, "scan", "--json", "--keys", "--mode", mode, path, "a"), &r)
		if !r.KeysOnly || r.ValueBytes != 0 || r.KeyBytes != testRows*int64(len("key-000000")) {
			t.Errorf("mode %s: %+v", mode, r)
		}
	}
}

func TestScanCold(t *testing.T) {
	var r scanReport
	decode(t, succeed(t, "scan", "--json", "--cold", testDatabase(t)), &r)
	if !r.Cold || r.Rows != testRows+2 {
		t.Errorf("%+v", r)
	}
	if r.ColdVerifiedBy != "" && *r.ResidentBefore*1000 > r.FileBytes {
		t.Errorf("%d of %d bytes were cached in a file called cold", *r.ResidentBefore, r.FileBytes)
	}
	if r.ResidentAfter != nil && *r.ResidentAfter == 0 {
		t.Error("nothing is cached after a scan")
	}
}

func TestScanSaysWhenItIsOff(t *testing.T) {
	t.Setenv(predictio.EnvVar, "off")
	path := testDatabase(t)
	var r scanReport
	decode(t, succeed(t, "scan", "--json", path), &r)
	if !r.Prefetch.Off || r.Prefetch.Events != 0 || r.Rows != testRows+2 {
		t.Errorf("%+v %+v", r, r.Prefetch)
	}
	if text := succeed(t, "scan", path); !strings.Contains(text.stdout, "PREDICTIO=off") {
		t.Errorf("%q", text.stdout)
	}
}

func TestScanForPeople(t *testing.T) {
	r := succeed(t, "scan", testDatabase(t), "a")
	for _, want := range []string{"2000 rows, buckets: 1;", "rows/s, mode predictio", "in the page cache"} {
		if !strings.Contains(r.stdout, want) {
			t.Errorf("%q is not in %q", want, r.stdout)
		}
	}
}
