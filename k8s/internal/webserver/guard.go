// SPDX-License-Identifier: Apache-2.0

package webserver

import (
	"container/list"
	"crypto/tls"
	"net"
	"net/http"
	"net/netip"
	"sync"
)

const (
	// perAddress is how many connections an address has at a time.
	perAddress = 8
	// inAll is how many connections there are at a time. A new one takes the place of that
	// which has asked nothing for the longest time: those who open many cannot keep the others
	// out.
	inAll = 512
)

// guard is a listener that bounds its connections. Those beyond perAddress are closed at once.
type guard struct {
	net.Listener

	mu        sync.Mutex
	addresses map[netip.Addr]int
	silent    list.List // the connections on which nothing is asked, the longest first
	open      int
}

func newGuard(l net.Listener) *guard { return &guard{Listener: l, addresses: map[netip.Addr]int{}} }

// conn is a connection of a guard.
type conn struct {
	net.Conn
	guard   *guard
	address netip.Addr
	place   *list.Element // among the silent ones; nil if something is asked or it is closed
	closed  bool
}

// Accept implements net.Listener.
func (g *guard) Accept() (net.Conn, error) {
	for {
		accepted, err := g.Listener.Accept()
		if err != nil {
			return nil, err
		}
		c := &conn{Conn: accepted, guard: g}
		if a, ok := accepted.RemoteAddr().(*net.TCPAddr); ok {
			c.address = a.AddrPort().Addr().Unmap().WithZone("")
		}
		longest, ok := g.admit(c)
		if longest != nil {
			longest.Close()
		}
		if ok {
			return c, nil
		}
		accepted.Close()
	}
}

// admit counts a connection, unless its address has too many, and returns the one that has to
// go for it.
func (g *guard) admit(c *conn) (longest *conn, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.addresses[c.address] >= perAddress {
		return nil, false
	}
	if g.open >= inAll {
		first := g.silent.Front()
		if first == nil {
			return nil, false
		}
		longest = first.Value.(*conn)
	}
	g.addresses[c.address]++
	g.open++
	c.place = g.silent.PushBack(c)
	return longest, true
}

// trackConnState follows what happens on the connections of a server.
func (g *guard) trackConnState(open net.Conn, s http.ConnState) {
	if t, ok := open.(*tls.Conn); ok {
		open = t.NetConn()
	}
	c, ok := open.(*conn)
	if !ok {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case s == http.StateActive && c.place != nil:
		g.silent.Remove(c.place)
		c.place = nil
	case s == http.StateIdle && c.place == nil && !c.closed:
		c.place = g.silent.PushBack(c)
	}
}

// Close implements net.Conn.
func (c *conn) Close() error {
	c.guard.forget(c)
	return c.Conn.Close()
}

// forget no longer counts a connection.
func (g *guard) forget(c *conn) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if c.closed {
		return
	}
	c.closed = true
	if c.place != nil {
		g.silent.Remove(c.place)
		c.place = nil
	}
	if g.addresses[c.address]--; g.addresses[c.address] == 0 {
		delete(g.addresses, c.address)
	}
	g.open--
}
