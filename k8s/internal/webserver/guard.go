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
	// which has asked nothing for the longest time, of those that never asked or of those that
	// did, whichever are more: those who open many neither keep the others out nor end the
	// connection of a scheduler between two questions.
	inAll = 512
)

// guard is a listener that bounds its connections. Those beyond perAddress are closed at once.
type guard struct {
	net.Listener

	mu        sync.Mutex
	addresses map[netip.Addr]int
	silent    list.List // the connections on which nothing was ever asked, the longest first
	idle      list.List // those on which nothing is asked any more, the longest first
	open      int
}

func newGuard(l net.Listener) *guard { return &guard{Listener: l, addresses: map[netip.Addr]int{}} }

// conn is a connection of a guard.
type conn struct {
	net.Conn
	guard   *guard
	address netip.Addr
	among   *list.List    // silent or idle
	place   *list.Element // in it; nil if something is asked or the connection is closed
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
		if g.idle.Len() > g.silent.Len() {
			first = g.idle.Front()
		}
		if first == nil {
			return nil, false
		}
		longest = first.Value.(*conn)
	}
	g.addresses[c.address]++
	g.open++
	c.wait(&g.silent)
	return longest, true
}

// wait counts a connection among those whose place a new one may take; it was not among them.
func (c *conn) wait(among *list.List) { c.among, c.place = among, among.PushBack(c) }

// leave no longer counts it there.
func (c *conn) leave() {
	if c.place != nil {
		c.among.Remove(c.place)
		c.place = nil
	}
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
	case s == http.StateActive:
		c.leave()
	case s == http.StateIdle && c.place == nil && !c.closed:
		c.wait(&g.idle)
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
	c.leave()
	if g.addresses[c.address]--; g.addresses[c.address] == 0 {
		delete(g.addresses, c.address)
	}
	g.open--
}
