// SPDX-License-Identifier: Apache-2.0

package lsm

import "time"

// Changed says that the engine's tables have changed. The list is read again when a
// Scan begins: nobody but an open iterator, or a caller's own call, keeps the engine
// from being closed meanwhile.
//
// Engines say so a moment before it is so: what is read within settling is read once more
// after that.
func (s *Store) Changed() {
	s.changedAt.Store(int64(time.Since(epoch)))
	s.changed.Store(true)
}

const settling = 100 * time.Millisecond

var epoch = time.Now()

func (s *Store) sinceChange() time.Duration {
	return time.Since(epoch) - time.Duration(s.changedAt.Load())
}

// Stale reports whether the list of tables is to be read again.
func (s *Store) Stale() bool { return s.changed.Load() || s.unsettled.Load() }

// Deleted says that the engine has deleted a file. It is closed at once, since open it
// would take up its space.
func (s *Store) Deleted(file uint64) {
	s.mu.Lock()
	t := s.files[file]
	s.mu.Unlock()
	if t != nil {
		t.failed.Store(true)
		go t.close() // the engine doesn't wait for our reads
	}
	s.Changed()
}

// reread reads the list of tables beside the caller, if it has changed, for it may be
// long. The channel is closed at the end; nil: there is nothing to be read, or it is
// being read for somebody else.
func (s *Store) reread() <-chan struct{} {
	if s.unsettled.Load() && s.sinceChange() >= settling && s.unsettled.Swap(false) {
		s.changed.Store(true)
	}
	if !s.changed.Load() {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.reading != nil || !s.changed.Swap(false) {
		return nil
	}
	done := make(chan struct{})
	s.reading = done
	go func() {
		defer close(done)
		// On an error the old list stays: its tables that are gone give no hints. A panic
		// is that of a closed engine, or of its comparer, and no matter of the caller's.
		err, panicked := error(nil), true
		defer func() {
			if panicked {
				_ = recover()
			}
			s.mu.Lock()
			defer s.mu.Unlock()
			s.reading = nil
			s.closed = s.closed || panicked
			if err != nil {
				s.changed.Store(true)
			}
			if s.sinceChange() < settling {
				s.unsettled.Store(true)
			}
		}()
		err = s.reload()
		panicked = false
	}()
	return done
}

// await waits for reread.
func await(reading <-chan struct{}) {
	if reading != nil {
		<-reading
	}
}

// Reload reads the list of tables, if it has changed, and waits for it.
func (s *Store) Reload() {
	await(s.reread())
	s.mu.Lock()
	reading := s.reading
	s.mu.Unlock()
	await(reading)
}
