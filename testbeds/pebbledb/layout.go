// SPDX-License-Identifier: Apache-2.0

package pebbledb

import "fmt"

// Quiet drops what Pebble logs; both versions take it.
type Quiet struct{}

// Infof drops a message.
func (Quiet) Infof(string, ...any) {}

// Errorf drops a message; the call that failed returns an error too.
func (Quiet) Errorf(string, ...any) {}

// Fatalf panics: Pebble does not expect it to return.
func (Quiet) Fatalf(format string, args ...any) { panic(fmt.Sprintf("pebble: "+format, args...)) }

func (s Spec) open(dir string) (engine, error) {
	if s.V1 {
		return openV1(dir, s)
	}
	return openV2(dir, s)
}

// Tables opens a database and returns how many tables each of its levels has.
func Tables(dir string, s Spec) ([]int, error) {
	if s.V1 {
		return tablesV1(dir, s)
	}
	return tablesV2(dir, s)
}

// verify returns an error if a database's tables are not where the spec wants them.
func verify(dir string, s Spec) error {
	n, err := Tables(dir, s)
	if err != nil {
		return err
	}
	for level, tables := range n {
		ok := tables == 0
		switch {
		case level == lower, level == upper && s.Layout == ManyLevels:
			ok = tables > 0
		case level == 0 && s.Layout == ManyLevels:
			ok = tables == L0Tables
		}
		if !ok {
			return fmt.Errorf("pebbledb: %s has %v tables in levels 0 to 6", s.Name(), n)
		}
	}
	return nil
}
