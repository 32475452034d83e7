package backup_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/metax-ctk/container-toolkit/internal/atomicfile"
	"github.com/metax-ctk/container-toolkit/internal/backup"
)

func TestHistory(t *testing.T) {
	s, _, etc := scenery(t)
	path := filepath.Join(etc, "docker", "daemon.json")
	recall(t, s, path, "unknown", "unknown")
	if err := rollback(t, s, path); !errors.Is(err, backup.ErrNone) {
		t.Errorf("nothing kept: %v", err)
	}
	apply(t, s, backup.Begin, change(path, gone, "1"))
	recall(t, s, path, gone, gone)
	apply(t, s, backup.Configure, change(path, "1", "2"))
	recall(t, s, path, gone, gone)
	apply(t, s, backup.Remove, change(path, "2", gone))
	recall(t, s, path, "unknown", "unknown") // nothing of ours is there
	for _, want := range []string{"2", "1", gone} {
		if err := rollback(t, s, path); err != nil {
			t.Fatal(err)
		}
		holds(t, path, want)
		if want != gone {
			recall(t, s, path, gone, gone)
		}
	}
	if err := rollback(t, s, path); !errors.Is(err, backup.ErrNone) {
		t.Errorf("all rolled back: %v", err)
	}
	// The next round begins with what is there then.
	write(t, path, "a")
	apply(t, s, backup.Begin, change(path, "a", "b"))
	recall(t, s, path, "a", "a")
	write(t, path, "edited")
	recall(t, s, path, "a", "unknown")
	if err := rollback(t, s, path); !errors.Is(err, atomicfile.ErrChanged) || !strings.Contains(err.Error(), path) {
		t.Errorf("edited: %v, want ErrChanged", err)
	}
	holds(t, path, "edited")
	apply(t, s, backup.Configure, change(path, "edited", "edited b"))
	recall(t, s, path, "a", "unknown") // Undo would lose what somebody wrote
	if err := rollback(t, s, path); err != nil {
		t.Fatal(err)
	}
	holds(t, path, "edited")
	apply(t, s, backup.Begin, change(path, "edited", "new"))
	recall(t, s, path, "edited", "edited")
	// Somebody puts a backup back by hand.
	write(t, path, "edited")
	recall(t, s, path, "a", "unknown")
	write(t, path, "a")
	recall(t, s, path, "unknown", "unknown")
}

// What one Apply did is rolled back together, and only that.
func TestRollbackTogether(t *testing.T) {
	s, _, etc := scenery(t)
	main, drop := filepath.Join(etc, "config.toml"), filepath.Join(etc, "conf.d", "metax.toml")
	write(t, main, "a")
	apply(t, s, backup.Begin, change(main, "a", "b"), change(drop, gone, "1"))
	apply(t, s, backup.Configure, change(main, "b", "b"), change(drop, "1", "2"))
	if err := rollback(t, s, main, drop); err != nil {
		t.Fatal(err)
	}
	holds(t, main, "b")
	holds(t, drop, "1")
	if err := rollback(t, s, main, drop); err != nil {
		t.Fatal(err)
	}
	holds(t, main, "a")
	holds(t, drop, gone)
}

func TestRotation(t *testing.T) {
	s, kept, etc := scenery(t)
	path := filepath.Join(etc, "f")
	write(t, path, "0")
	for i := range 3 * backup.Keep {
		op := backup.Configure
		if i == 0 {
			op = backup.Begin
		}
		apply(t, s, op, change(path, fmt.Sprint(i), fmt.Sprint(i+1)))
		entries, _ := filepath.Glob(filepath.Join(kept, "*", "*"))
		if want := 2 * min(i+1, backup.Keep); len(entries) != want {
			t.Fatalf("%d changes: %d files, want %d", i+1, len(entries), want)
		}
		undone := "0"
		if i >= backup.Keep {
			undone = "unknown" // something between is missing
		}
		recall(t, s, path, "0", undone)
	}
	// One goes for the first rollback, and the one with the original stands alone.
	for i := range backup.Keep - 2 {
		if err := rollback(t, s, path); err != nil {
			t.Fatalf("rollback %d: %v", i, err)
		}
		recall(t, s, path, "0", "unknown")
	}
	holds(t, path, fmt.Sprint(2*backup.Keep+2))
	if err := rollback(t, s, path); !errors.Is(err, atomicfile.ErrChanged) {
		t.Errorf("%v, want ErrChanged", err)
	}
}

// What an old rollback undid does not go without it, nor the original of what comes
// back when a removal is rolled back.
func TestRotationOfRollbacks(t *testing.T) {
	for _, op := range []backup.Op{backup.Begin, backup.Configure} {
		t.Run(string(op), func(t *testing.T) { rotationOfRollbacks(t, op) })
	}
}

func rotationOfRollbacks(t *testing.T, op backup.Op) {
	t.Helper()
	s, _, etc := scenery(t)
	path := filepath.Join(etc, "f")
	write(t, path, "a")
	apply(t, s, op, change(path, "a", "b"))
	for range 2 * backup.Keep {
		apply(t, s, backup.Configure, change(path, "b", "c"))
		if err := rollback(t, s, path); err != nil {
			t.Fatal(err)
		}
		apply(t, s, backup.Remove, change(path, "b", "a"))
		recall(t, s, path, "unknown", "unknown")
		if err := rollback(t, s, path); err != nil {
			t.Fatal(err)
		}
		recall(t, s, path, "a", "a")
	}
	for n := range 2 * backup.Keep { // removed after many changes
		apply(t, s, backup.Configure, change(path, read(t, path), fmt.Sprint(n)))
	}
	apply(t, s, backup.Remove, change(path, read(t, path), "a"))
	if err := rollback(t, s, path); err != nil {
		t.Fatal(err)
	}
	original, known, err := s.Original(path, []byte(read(t, path)))
	if string(original) != "a" || !known || err != nil {
		t.Errorf("the original is %q, %v, %v", original, known, err)
	}
}

// Between finding out what to undo and undoing it, others may have done so.
func TestRollbackTwice(t *testing.T) {
	s, _, etc := scenery(t)
	path := filepath.Join(etc, "f")
	write(t, path, "a")
	apply(t, s, backup.Begin, change(path, "a", "b"))
	apply(t, s, backup.Remove, change(path, "b", "a"))
	undo, err := s.Rollback(map[string][]byte{path: []byte("a")})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // others undo both
		if err := rollback(t, s, path); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Apply(backup.Rollback, undo); !errors.Is(err, atomicfile.ErrChanged) {
		t.Errorf("%v, want ErrChanged", err)
	}
	holds(t, path, "a")
}

func TestTurn(t *testing.T) {
	s, _, _ := scenery(t)
	var working atomic.Int32
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			release, err := s.Turn()
			if err != nil {
				t.Error(err)
				return
			}
			defer release()
			if n := working.Add(1); n != 1 {
				t.Errorf("%d have the turn", n)
			}
			runtime.Gosched()
			working.Add(-1)
		})
	}
	all.Wait()
}
