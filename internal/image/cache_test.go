// SPDX-License-Identifier: Apache-2.0

package image_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/metax-ctk/container-toolkit/internal/image"
	"github.com/metax-ctk/container-toolkit/test/testfile"
)

var unexported = cmpopts.IgnoreUnexported(image.Facts{})

func some(id string) (image.Key, image.Facts) {
	return image.Key{ID: id, Platform: "linux/amd64", Labels: []string{"l"}}, image.Facts{
		ID: id, Platform: "linux/amd64", Warnings: []string{"w"},
		MACA: &image.Install{Path: image.Path, Dir: "/opt/maca-2", Version: "2.0", VersionFrom: "Version.txt"},
	}
}

func put(t *testing.T, c image.Cache, key image.Key, facts image.Facts) {
	t.Helper()
	if err := c.Put(key, facts); err != nil {
		t.Fatal(err)
	}
}

// kept are the files of a cache.
func kept(t *testing.T, c image.Cache) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(c.Dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func TestCache(t *testing.T) {
	c := image.Cache{Dir: filepath.Join(t.TempDir(), "a/b")}
	key, facts := some("sha256:../../x")
	if got, ok := c.Get(key); ok {
		t.Fatalf("an empty cache has %+v", got)
	}
	secret := facts
	secret.Env, secret.Labels = []string{"PASSWORD=x"}, map[string]string{"a": "x"}
	put(t, c, key, secret)
	got, ok := c.Get(key)
	if diff := cmp.Diff(facts, got, unexported); !ok || diff != "" {
		t.Errorf("%t: %s", ok, diff)
	}
	files := kept(t, c)
	if len(files) != 1 {
		t.Fatalf("files %q", files)
	}
	info, err := os.Stat(files[0])
	text, err2 := os.ReadFile(files[0])
	if err != nil || err2 != nil || info.Mode().Perm() != 0o600 || bytes.Contains(text, []byte("PASSWORD")) {
		t.Errorf("%v, %v, %v: %s", info.Mode(), err, err2, text)
	}
	for name, other := range map[string]image.Key{
		"ID":         {ID: "sha256:y", Platform: key.Platform, Labels: key.Labels},
		"platform":   {ID: key.ID, Platform: "linux/arm64", Labels: key.Labels},
		"labels":     {ID: key.ID, Platform: key.Platform, Labels: []string{"l", "m"}},
		"no labels":  {ID: key.ID, Platform: key.Platform},
		"a boundary": {ID: key.ID + "linux", Platform: "/amd64", Labels: key.Labels},
	} {
		if got, ok := c.Get(other); ok {
			t.Errorf("another %s: %+v", name, got)
		}
	}
	if got, ok := (image.Cache{}).Get(key); ok || (image.Cache{}).Put(key, facts) != nil {
		t.Errorf("a cache without a directory has %+v", got)
	}
}

// A damaged file counts as absent, and is replaced.
func TestCacheDamaged(t *testing.T) {
	c := image.Cache{Dir: t.TempDir()}
	key, facts := some("sha256:a")
	put(t, c, key, facts)
	file := kept(t, c)[0]
	whole := testfile.Read(t, file)
	otherKey, otherFacts := some("sha256:b")
	put(t, c, otherKey, otherFacts)
	var foreign []byte
	for _, name := range kept(t, c) {
		if name != file {
			foreign, _ = os.ReadFile(name)
		}
	}
	replace := func(old, new string) []byte {
		text := bytes.ReplaceAll(whole, []byte(old), []byte(new))
		if bytes.Equal(text, whole) {
			t.Fatalf("there is no %q in %s", old, whole)
		}
		return text
	}
	for name, text := range map[string][]byte{
		"empty": nil, "half": whole[:len(whole)/2], "more": append(bytes.Clone(whole), '{'), "binary": {0, 1, 2}, "another": []byte(`{"format":"x"}`), "null": []byte("null"),
		"of another image": foreign, "of another format": replace("facts/v1", "facts/v2"), "with a field": replace(`"facts":{`, `"facts":{"new":1,`),
		"of another ID": replace(`"facts":{"id":"sha256:a"`, `"facts":{"id":"sha256:c"`), "huge": bytes.Repeat([]byte(" "), 2<<20),
		"without a place": replace(`"dir":"/opt/maca-2"`, `"dir":""`),
	} {
		testfile.Write(t, file, text, 0o600)
		if got, ok := c.Get(key); ok {
			t.Errorf("%s: %+v", name, got)
		}
		put(t, c, key, facts)
		if got, ok := c.Get(key); !ok || !cmp.Equal(facts, got, unexported) {
			t.Errorf("%s: replaced by %+v, %t", name, got, ok)
		}
	}
	// Another user's link is neither followed nor replaced.
	if err := errors.Join(os.Remove(file), os.Symlink(filepath.Join(c.Dir, "x"), file), os.WriteFile(filepath.Join(c.Dir, "x"), whole, 0o600)); err != nil {
		t.Fatal(err)
	}
	if got, ok := c.Get(key); ok {
		t.Errorf("by a link: %+v", got)
	}
	if err := c.Put(key, facts); err == nil {
		t.Error("a link is replaced")
	}
}

func TestCacheUnwritable(t *testing.T) {
	file := filepath.Join(t.TempDir(), "f")
	testfile.Write(t, file, "", 0o600)
	key, facts := some("sha256:a")
	c := image.Cache{Dir: filepath.Join(file, "cache")}
	if err := c.Put(key, facts); !errors.Is(err, syscall.ENOTDIR) || !strings.Contains(err.Error(), file) {
		t.Errorf("got %v", err)
	}
	if got, ok := c.Get(key); ok {
		t.Errorf("got %+v", got)
	}
}

// The oldest files are removed first, and only files of the cache.
func TestCachePruned(t *testing.T) {
	c := image.Cache{Dir: t.TempDir()}
	begin := time.Now().Add(-24 * time.Hour)
	dated := func(name string, at time.Time) {
		if err := os.Chtimes(name, at, at); err != nil {
			t.Fatal(err)
		}
	}
	seen := map[string]bool{}
	for i := range 300 {
		key, facts := some(fmt.Sprintf("sha256:%d", i))
		put(t, c, key, facts)
		for _, name := range kept(t, c) {
			if !seen[name] {
				seen[name] = true
				dated(name, begin.Add(time.Duration(i)*time.Minute))
			}
		}
	}
	left := filepath.Join(c.Dir, "."+filepath.Base(kept(t, c)[0])+".123.tmp")
	fresh := filepath.Join(c.Dir, "."+filepath.Base(kept(t, c)[1])+".123.tmp")
	alien := filepath.Join(c.Dir, "alien.json")
	for _, name := range []string{left, fresh, alien} {
		testfile.Write(t, name, "", 0o600)
	}
	dated(left, begin)
	dated(alien, begin.Add(-time.Hour))
	key, facts := some("sha256:last")
	put(t, c, key, facts)
	if n := len(kept(t, c)); n != 256+2 {
		t.Errorf("%d files, want 256 and two others", n)
	}
	for i, want := range map[int]bool{0: false, 44: false, 45: true, 299: true} {
		key, _ := some(fmt.Sprintf("sha256:%d", i))
		if _, ok := c.Get(key); ok != want {
			t.Errorf("image %d is there: %t", i, ok)
		}
	}
	for name, want := range map[string]bool{left: false, fresh: true, alien: true} {
		if _, err := os.Lstat(name); (err == nil) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestCacheTogether(t *testing.T) {
	c := image.Cache{Dir: t.TempDir()}
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for j := range 40 {
				key, facts := some(fmt.Sprintf("sha256:%d", (i+j)%10))
				if err := c.Put(key, facts); err != nil {
					t.Error(err)
				}
				if got, ok := c.Get(key); !ok || got.ID != key.ID {
					t.Errorf("%s is %+v, %t", key.ID, got, ok)
				}
			}
		})
	}
	all.Wait()
}
