// SPDX-License-Identifier: Apache-2.0

package webserver

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// pipes is a listener on which a test opens connections from any address.
type pipes struct {
	waiting chan net.Conn
	closed  chan struct{}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.waiting:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	close(p.closed)
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }

// from is the end of the server of a connection from an address.
type from struct {
	net.Conn
	address net.TCPAddr
}

func (f from) RemoteAddr() net.Addr { return &f.address }

// dial opens a connection from an address.
func (p *pipes) dial(address string) net.Conn {
	server, client := net.Pipe()
	p.waiting <- from{server, net.TCPAddr{IP: net.ParseIP(address), Port: 1}}
	return client
}

// isOpen reports whether the server still has a connection on which it says nothing.
func isOpen(c net.Conn) bool {
	_ = c.SetReadDeadline(time.Now().Add(time.Millisecond))
	_, err := c.Read(make([]byte, 1))
	return err != io.EOF
}

// ask asks for a path and returns the answer's body.
func ask(c net.Conn, path string) (string, error) {
	_ = c.SetDeadline(time.Time{})
	if _, err := fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", path); err != nil {
		return "", err
	}
	answer, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(answer.Body)
	return string(text), err
}

// hello serves until the test ends.
func hello(t *testing.T) *pipes {
	p := &pipes{make(chan net.Conn), make(chan struct{})}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		ended <- serve(ctx, newGuard(p), nil, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/slow" {
				time.Sleep(time.Second)
			}
			fmt.Fprint(w, "hello")
		}))
	}()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return p
}

// TestAddress: of one address there are eight connections; others are served, and a closed one
// makes room.
func TestAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := hello(t)
		var mine []net.Conn
		for range 20 {
			mine = append(mine, p.dial("10.0.0.1"))
		}
		synctest.Wait()
		for i, c := range mine {
			if got := isOpen(c); got != (i < perAddress) {
				t.Errorf("connection %d: open %t", i, got)
			}
		}
		for _, address := range []string{"10.0.0.2", "fd00::1", "fd00::2"} {
			if text, err := ask(p.dial(address), "/"); text != "hello" || err != nil {
				t.Errorf("%s: %q, %v", address, text, err)
			}
		}
		if c := p.dial("::ffff:10.0.0.1"); isOpen(c) {
			t.Error("the same address in another form has more")
		}
		mine[0].Close()
		synctest.Wait()
		if text, err := ask(p.dial("10.0.0.1"), "/"); text != "hello" || err != nil {
			t.Errorf("after one was closed: %q, %v", text, err)
		}
	})
}

// TestAll: when all places are taken, who asks nothing for the longest time has to go, and who
// is answered stays, as who has asked before.
func TestAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := hello(t)
		slow := p.dial("10.0.0.1")
		answered := make(chan string)
		go func() {
			text, _ := ask(slow, "/slow")
			answered <- text
		}()
		before := p.dial("10.0.0.4")
		if text, err := ask(before, "/"); text != "hello" || err != nil {
			t.Fatalf("the first: %q, %v", text, err)
		}
		synctest.Wait()
		var others []net.Conn
		for i := range inAll + 9 {
			others = append(others, p.dial(fmt.Sprintf("10.1.%d.%d", i/200, i%200)))
		}
		if text, err := ask(p.dial("10.0.0.3"), "/"); text != "hello" || err != nil {
			t.Errorf("beside all others: %q, %v", text, err)
		}
		if text, err := ask(before, "/"); text != "hello" || err != nil {
			t.Errorf("who has asked before: %q, %v", text, err)
		}
		for i, want := range map[int]bool{0: false, 11: false, 12: true, inAll + 8: true} {
			if got := isOpen(others[i]); got != want {
				t.Errorf("connection %d: open %t", i, got)
			}
		}
		if text := <-answered; text != "hello" {
			t.Errorf("who was being answered: %q", text)
		}
	})
}

// TestAllIdle: when those who have asked take all places, one of them goes for a new one.
func TestAllIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := hello(t)
		var asked []net.Conn
		for i := range inAll {
			asked = append(asked, p.dial(fmt.Sprintf("10.1.%d.%d", i/200, i%200)))
			if text, err := ask(asked[i], "/"); text != "hello" || err != nil {
				t.Fatalf("connection %d: %q, %v", i, text, err)
			}
			synctest.Wait()
		}
		later := []net.Conn{p.dial("10.0.0.1"), p.dial("10.0.0.2"), p.dial("10.0.0.3")}
		synctest.Wait()
		if text, err := ask(later[0], "/"); text != "hello" || err != nil {
			t.Errorf("beside all who have asked: %q, %v", text, err)
		}
		for i, want := range map[int]bool{0: false, 2: false, 3: true, inAll - 1: true} {
			if got := isOpen(asked[i]); got != want {
				t.Errorf("connection %d: open %t", i, got)
			}
		}
	})
}

// TestTimes: who sends no header has two seconds, and who asks nothing more has thirty.
func TestTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := hello(t)
		mute, idle := p.dial("10.0.0.1"), p.dial("10.0.0.1")
		if _, err := ask(idle, "/"); err != nil {
			t.Fatal(err)
		}
		for _, step := range []struct {
			after      time.Duration
			mute, idle bool
		}{
			{1900 * time.Millisecond, true, true},
			{200 * time.Millisecond, false, true},
			{27 * time.Second, false, true},
			{2 * time.Second, false, false},
		} {
			time.Sleep(step.after)
			synctest.Wait()
			if isOpen(mute) != step.mute || isOpen(idle) != step.idle {
				t.Errorf("%s later: mute %t, idle %t", step.after, isOpen(mute), isOpen(idle))
			}
		}
	})
}

func TestAddressTaken(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := Serve(t.Context(), l.Addr().String(), nil, http.NotFoundHandler()); err == nil || !strings.Contains(err.Error(), "in use") {
		t.Error(err)
	}
}
