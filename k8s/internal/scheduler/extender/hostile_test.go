// SPDX-License-Identifier: Apache-2.0

package extender

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol/foreign"
	"github.com/metax-ctk/container-toolkit/test/testfile"
)

// TestMain is the extender of TestHostile where that starts it.
func TestMain(m *testing.M) {
	address := os.Getenv("METAX_TEST_EXTENDER")
	if address == "" {
		os.Exit(m.Run())
	}
	e, _, _ := serve(new(testing.B))
	e.MaxBody = foreign.MaxQuestion
	fmt.Fprintln(os.Stderr, Serve(context.Background(), address, TLS{}, e.Handler()))
}

// hostile returns questions that cost memory or time where all of them is decoded.
func hostile() map[string]string {
	return map[string]string{
		"containers":  `{"Pod":{"spec":{"containers":[` + strings.Repeat("{},", 350_000) + `{}]}},"NodeNames":["domain"]}`,
		"volumes":     `{"Pod":{"spec":{"volumes":[` + strings.Repeat("{},", 700_000) + `{}]}},"NodeNames":["domain"]}`,
		"annotations": `{"Pod":{"metadata":{"annotations":{` + strings.Repeat(`"a":"",`, 300_000) + `"b":""}}}}`,
		"names":       `{"Pod":{},"NodeNames":[` + strings.Repeat(`"",`, 900_000) + `""]}`,
		"nodes":       `{"Pod":{},"Nodes":{"items":[` + strings.Repeat(`{},`, 900_000) + `{}]}}`,
		"a number":    `{"Pod":{"spec":{"containers":[{"resources":{"limits":{"metax-tech.com/gpu":` + strings.Repeat("9", 2_000_000) + `}}}]}},"NodeNames":["domain"]}`,
		"depth":       `{"Pod":` + strings.Repeat("[", 2_500_000),
		"too large":   `{"Pod":{},"x":"` + strings.Repeat("x", 8<<20),
		"tasks":       `{"task":{"Pod":{}},"nodes":[{"Tasks":{` + strings.Repeat(`"":{"Status":2,"Pod":{}},`, 100_000) + `"":null}}]}`,
		"their containers": `{"task":{"Pod":{}},"nodes":[{"Tasks":{` +
			strings.Repeat(`"":{"Status":2,"Pod":{"spec":{"containers":[`+strings.Repeat("{},", 999)+`{}]}}},`, 900) + `"":null}}]}`,
		"a deep task": `{"nodes":[{"Name":"domain"}],"task":{"Pod":` + strings.Repeat(`{"spec":`, 300_000),
	}
}

// TestSpareMemory: a question takes no more memory than is counted of it, whatever those before it
// left.
func TestSpareMemory(t *testing.T) {
	b := &budget{limit: 1 << 30}
	read := func(size int) *body {
		asked := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(strings.Repeat("x", size)))
		q := b.openBody(httptest.NewRecorder(), asked, 1<<25)
		if text, _, err := q.readText(); err != nil || len(text) != size {
			t.Fatalf("%d bytes of %d: %v", len(text), size, err)
		}
		return q
	}
	for range 10 { // the race detector has a pool forget
		read(16 << 20).releaseBudget()
		if q := read(8 << 10); int64(len(*q.memory)) > 2*q.mine {
			t.Fatalf("it has %d bytes, and %d are counted", len(*q.memory), q.mine)
		}
	}
}

// TestHostile asks a program's questions while strangers from many addresses send hostile ones
// and open connections. At night it has the whole numbers: 1,000 questions and 20,000
// connections.
func TestHostile(t *testing.T) {
	questions, connections := 64, 2000
	if os.Getenv("METAX_K8S_NIGHT") != "" {
		questions, connections = 1000, 20_000
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().String()
	free.Close()
	program := exec.Command(os.Args[0])
	program.Env = append(os.Environ(), "METAX_TEST_EXTENDER="+address, "GOMEMLIMIT=460MiB")
	program.Stderr = t.Output()
	if err := program.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = program.Process.Kill()
		_ = program.Wait()
	}()
	from := func(i int) *net.Dialer {
		return &net.Dialer{Timeout: 10 * time.Second, LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 1, byte(i/200), byte(i%200+1))}}
	}
	ask := func() (time.Duration, error) {
		began := time.Now()
		answer, err := http.Post("http://"+address+"/filter", "application/json", strings.NewReader(question(t, 1, "domain", "halves")))
		if err != nil {
			return 0, err
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		if err == nil && answer.StatusCode != http.StatusOK {
			err = fmt.Errorf("%s %s", answer.Status, text)
		}
		return time.Since(began), err
	}
	for late := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if _, err := ask(); err == nil {
			break
		} else if time.Now().After(late) {
			t.Fatal(err)
		}
	}
	first := resident(t, program.Process.Pid)
	end := make(chan struct{})
	var strangers sync.WaitGroup
	var texts []string
	for _, text := range hostile() {
		texts = append(texts, text)
	}
	paths := []string{"filter", "volcano/prioritize"}
	for i := range 16 {
		strangers.Go(func() {
			for j := i; j < questions; j += 16 {
				c, err := from(j).Dial("tcp", address)
				if err != nil {
					continue
				}
				text := texts[j%len(texts)]
				path := paths[j/len(texts)%len(paths)]
				fmt.Fprintf(c, "POST /%s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", path, len(text), text)
				_ = c.SetReadDeadline(time.Now().Add(20 * time.Second))
				_, _ = http.ReadResponse(bufio.NewReader(c), nil)
				c.Close()
			}
		})
	}
	strangers.Go(func() {
		var open []net.Conn
		for i := range connections {
			if c, err := from(i%5000).Dial("tcp", address); err == nil {
				open = append(open, c)
			}
			if len(open) == 4000 { // as many files as a test may have open
				for _, c := range open {
					c.Close()
				}
				open = nil
			}
		}
		for _, c := range open {
			defer c.Close()
		}
		<-end
	})
	done := make(chan struct{})
	go func() { defer close(done); strangers.Wait() }()
	var took []time.Duration
	peak := 0
	for len(took) < 100 {
		d, err := ask()
		if err != nil {
			t.Error(err)
		}
		took = append(took, d)
		peak = max(peak, resident(t, program.Process.Pid))
		time.Sleep(20 * time.Millisecond)
	}
	close(end)
	<-done
	slices.Sort(took)
	p99 := took[len(took)*99/100]
	t.Logf("RSS %d MiB, before %d MiB, p99 %s", peak>>10, first>>10, p99)
	if peak>>10 > most {
		t.Errorf("it takes %d MiB, at most %d are wanted", peak>>10, most)
	}
}

// resident is the memory of a process in KiB.
func resident(t *testing.T, pid int) int {
	t.Helper()
	text := testfile.Text(t, fmt.Sprintf("/proc/%d/status", pid))
	_, after, _ := strings.Cut(text, "VmRSS:")
	n, _ := strconv.Atoi(strings.Fields(after)[0])
	return n
}
