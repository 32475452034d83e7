// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// occupancy is what the tests need of "metax-ctk ps -o json".
type occupancy struct {
	GPUs []struct {
		Index   int      `json:"index"`
		Holders []holder `json:"holders"`
	} `json:"gpus"`
	Queue []struct {
		ID    string `json:"id"`
		State string `json:"state"`
		PID   int    `json:"pid"`
	} `json:"queue"`
	Sources []struct {
		Engine, Endpoint, Status, Message string
	} `json:"sources"`
}

// holder is a user of a GPU.
type holder struct {
	State     string   `json:"state"`
	Sources   []string `json:"sources"`
	Lease     *lease   `json:"lease"`
	Container *struct {
		Engine, Namespace, ID, Name, State string
	} `json:"container"`
	Processes []struct {
		PID     int
		Command string
	} `json:"processes"`
	User string `json:"user"`
}

// lease is what the tests need of "metax-ctk lease list -o json".
type lease struct {
	ID        string `json:"id"`
	GPUs      []int  `json:"gpus"`
	State     string `json:"state"`
	Verb      string `json:"verb"`
	Container string `json:"container"`
	Why       string `json:"why"`
}

// desk assigns GPUs to containers of one engine, under leases.
type desk struct {
	*host
	client  string   // what metax-docker becomes
	root    string   // METAX_CTK_ROOT
	options []string // before the image in every run
}

func (d desk) env() []string {
	return []string{"METAX_CTK_ROOT=" + d.root, "METAX_CTK_DOCKER=" + d.client, "HOME=/tmp"}
}

// metax runs metax-docker to its end.
func (d desk) metax(t *testing.T, args ...string) result {
	t.Helper()
	return d.run(t, d.env(), append([]string{"metax-docker"}, args...)...)
}

// runArgs are the arguments that run a probe; without a verb it stays until told to end.
func (d desk) runArgs(options []string, probe ...string) []string {
	if len(probe) == 0 {
		probe = []string{"pause"}
	}
	args := append(append([]string{"run", "--network=none"}, d.options...), options...)
	return append(append(args, imageRef, "/probe"), probe...)
}

// detach starts a container that stays, and returns its ID.
func (d desk) detach(t *testing.T, options ...string) string {
	t.Helper()
	return strings.TrimSpace(d.must(t, d.env(), append([]string{"metax-docker"}, d.runArgs(append(options, "--detach"))...)...))
}

// refused asserts that a probe with these options does not run, and that the message
// has these words.
func (d desk) refused(t *testing.T, options []string, words ...string) {
	t.Helper()
	options = append(slices.Clone(options), "--detach") // should it run after all, it must not stay
	d.failed(t, d.metax(t, d.runArgs(options)...), words...)
}

// failed asserts a failure of metax-docker's own.
func (d desk) failed(t *testing.T, r result, words ...string) {
	t.Helper()
	if r.code != 125 {
		t.Errorf("want exit code 125: %v", r)
	}
	for _, w := range words {
		if !strings.Contains(r.stderr, w) {
			t.Errorf("want a message with %q: %v", w, r)
		}
	}
}

// has asserts the GPUs in the label of a container.
func (d desk) has(t *testing.T, container string, want ...int) {
	t.Helper()
	if got := d.given(t, container); !slices.Equal(got, want) {
		t.Errorf("container %s has the GPUs %v, want %v", container, got, want)
	}
}

// given returns the GPUs in the label of a container.
func (d desk) given(t *testing.T, container string) []int {
	t.Helper()
	text := d.must(t, nil, d.client, "inspect", "--format", `{{index .Config.Labels "metax-tech.com/gpus"}}`, container)
	var gpus []int
	for word := range strings.SplitSeq(strings.TrimSpace(text), ",") {
		n, err := strconv.Atoi(word)
		if err != nil {
			t.Fatalf("container %s is labelled with the GPUs %q", container, text)
		}
		gpus = append(gpus, n)
	}
	return gpus
}

// ps returns which GPUs are in use, and by whom.
func (d desk) ps(t *testing.T) occupancy {
	t.Helper()
	o, err := d.tryPs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func (d desk) tryPs(ctx context.Context) (o occupancy, err error) {
	return o, d.ask(ctx, &o, "ps")
}

func (d desk) leases(t *testing.T) []lease {
	t.Helper()
	var all struct {
		Leases []lease `json:"leases"`
	}
	if err := d.ask(t.Context(), &all, "lease", "list"); err != nil {
		t.Fatal(err)
	}
	return all.Leases
}

func (d desk) ask(ctx context.Context, value any, args ...string) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	argv := append(append([]string{"metax-ctk", "--root", d.root}, args...), "-o", "json")
	r, err := d.try(ctx, nil, argv...)
	if err != nil {
		return err
	}
	if r.code != 0 {
		return fmt.Errorf("%s: %v", strings.Join(argv, " "), r)
	}
	return json.Unmarshal([]byte(r.stdout), value)
}

// held lists the GPUs in use.
func (o occupancy) held() []int {
	var list []int
	for _, g := range o.GPUs {
		if len(g.Holders) > 0 {
			list = append(list, g.Index)
		}
	}
	return list
}

// String lists the users of each GPU, a GPU on each line.
func (o occupancy) String() string {
	var b strings.Builder
	for _, g := range o.GPUs {
		for _, h := range g.Holders {
			fmt.Fprintf(&b, "GPU %d: %s by %v", g.Index, h.State, h.Sources)
			if h.Lease != nil {
				fmt.Fprintf(&b, ", lease %+v", *h.Lease)
			}
			if h.Container != nil {
				fmt.Fprintf(&b, ", container %+v", *h.Container)
			}
			fmt.Fprintf(&b, ", processes %v\n", h.Processes)
		}
	}
	for _, s := range o.Sources {
		fmt.Fprintf(&b, "source %+v\n", s)
	}
	return b.String()
}

// holds asserts that these GPUs are in use, and no others.
func (d desk) holds(t *testing.T, want ...int) {
	t.Helper()
	if o := d.ps(t); !slices.Equal(o.held(), want) {
		t.Errorf("the GPUs %v are held, want %v\n%v", o.held(), want, o)
	}
}

// sweep collects what clients left behind that are gone: it finds them so once, and again
// after the grace that a daemon at work has.
func (d desk) sweep(t *testing.T) {
	t.Helper()
	collect := []string{"metax-ctk", "--root", d.root, "lease", "gc"}
	d.must(t, nil, collect...)
	time.Sleep(2100 * time.Millisecond)
	d.must(t, nil, collect...)
}

// free waits until no GPU is in use: engines need a moment after a container ends.
func (d desk) free(t *testing.T) {
	t.Helper()
	until(t, func() (bool, string) {
		o := d.ps(t)
		return len(o.held()) == 0, o.String()
	})
}

// clear removes all containers and waits until no GPU is in use.
func (d desk) clear(t *testing.T) {
	t.Helper()
	d.remove(t)
	d.free(t)
}

func (d desk) remove(t *testing.T) {
	t.Helper()
	until(t, func() (bool, string) {
		ids := strings.Fields(d.must(t, nil, d.client, "ps", "--all", "--quiet"))
		if len(ids) == 0 {
			return true, ""
		}
		return false, d.run(t, nil, append([]string{d.client, "rm", "--force"}, ids...)...).stderr
	})
}

// until waits for a condition, which returns the actual state if it is not met.
func until(t *testing.T, condition func() (bool, string)) {
	t.Helper()
	for begin := time.Now(); ; time.Sleep(50 * time.Millisecond) {
		ok, instead := condition()
		if ok {
			return
		}
		if time.Since(begin) > patience/4 {
			t.Fatalf("that does not change:\n%s", instead)
		}
	}
}
