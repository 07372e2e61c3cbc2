// SPDX-License-Identifier: Apache-2.0

package pagecache

import (
	"os"
	"path/filepath"
	"testing"
)

// BenchmarkReadNoWait compares a read of cached data with the ordinary one.
func BenchmarkReadNoWait(b *testing.B) {
	name := filepath.Join(b.TempDir(), "file")
	if err := os.WriteFile(name, make([]byte, 1<<20), 0o600); err != nil {
		b.Fatal(err)
	}
	f, err := os.Open(name)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	p := make([]byte, 2500)
	b.Run("ReadAt", func(b *testing.B) {
		b.ReportAllocs()
		for i := range b.N {
			if _, err := f.ReadAt(p, int64(i%400)*2500); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("ReadNoWait", func(b *testing.B) {
		b.ReportAllocs()
		for i := range b.N {
			if ok, err := ReadNoWait(int(f.Fd()), p, int64(i%400)*2500); !ok || err != nil {
				b.Fatal(ok, err)
			}
		}
	})
}
