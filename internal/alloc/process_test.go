// SPDX-License-Identifier: Apache-2.0

package alloc

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"testing"

	"github.com/metax-ctk/container-toolkit/test/alloctest"
)

// digest is a hash of many answers and errors.
func digest(t *testing.T) string {
	h := sha256.New()
	r := rand.New(rand.NewPCG(41, 41))
	for round := range 30 {
		n := []int{8, 8, 13, 20, 32}[round%5]
		g := alloctest.Graph(t, alloctest.Crowd(r, n, 4))
		if round%2 == 0 {
			g = alloctest.Graph(t, alloctest.Build(n, 2, 4, alloctest.Quads(n)))
		}
		p := New(g)
		for range 6 {
			a, err := p.Pick(Request{N: 1 + r.IntN(8), Free: r.Perm(n)[:8+r.IntN(n-7)], Policy: policies[r.IntN(len(policies))], Explain: n <= 8})
			text, _ := json.Marshal(a)
			fmt.Fprintf(h, "%s %v\n", text, err)
		}
	}
	return fmt.Sprintf("%x", h.Sum(nil))
}

// TestSameInEveryProcess makes the same requests in processes that differ in the number of
// threads and in the seed of the runtime's maps.
func TestSameInEveryProcess(t *testing.T) {
	if os.Getenv("METAX_TEST_DIGEST") != "" {
		fmt.Println("digest", digest(t))
		return
	}
	var want string
	for _, threads := range []string{"1", "2", "7"} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestSameInEveryProcess$")
		cmd.Env = append(os.Environ(), "METAX_TEST_DIGEST=1", "GOMAXPROCS="+threads)
		out, err := cmd.CombinedOutput()
		var got string
		if _, scan := fmt.Sscanf(string(out), "digest %s\n", &got); err != nil || scan != nil {
			t.Fatalf("%v, %v:\n%s", err, scan, out)
		}
		if want == "" {
			want = got
		}
		if got != want {
			t.Errorf("with %s threads %s, before %s", threads, got, want)
		}
	}
}
