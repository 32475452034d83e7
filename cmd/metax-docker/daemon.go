package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"
)

// daemonPatience bounds what a daemon that does not answer may cost; docker
// itself will then say what is wrong with it.
const daemonPatience = 2 * time.Second

// maxInfo bounds the answer in bytes.
const maxInfo = 8 << 20

// info is the part of docker info that tells whether CDI can be used.
type info struct {
	// DiscoveredDevices are the devices that the daemon knows, from 28.2 on.
	DiscoveredDevices []struct{ Source, ID string }
	// CDISpecDirs are the directories that it reads; none where CDI is off.
	CDISpecDirs []string
}

// answer is what a daemon said, or why it said nothing.
type answer struct {
	info info
	err  error
}

// errNoDaemon is the answer of no daemon.
var errNoDaemon = errors.New("there is no daemon to ask")

// ask asks the daemon behind the socket in the background; an empty path is a
// client that has no daemon.
func ask(socket string) <-chan answer {
	said := make(chan answer, 1)
	if socket == "" {
		said <- answer{err: errNoDaemon}
		return said
	}
	go func() {
		i, err := daemonInfo(socket)
		said <- answer{i, err}
	}()
	return said
}

// daemonInfo asks the daemon behind the socket. It speaks the one sentence of
// HTTP that this takes, because net/http would cost more time at every start
// of the program than the question does.
func daemonInfo(socket string) (info, error) {
	fail := func(err error) (info, error) {
		return info{}, fmt.Errorf("ask the docker daemon at %s: %w", socket, err)
	}
	conn, err := net.DialTimeout("unix", socket, daemonPatience)
	if err != nil {
		return fail(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(daemonPatience)); err != nil {
		return fail(err)
	}
	// HTTP/1.0: the answer is not chunked and ends with the connection.
	if _, err := io.WriteString(conn, "GET /info HTTP/1.0\r\nHost: docker\r\n\r\n"); err != nil {
		return fail(err)
	}
	answer := bufio.NewReader(io.LimitReader(conn, maxInfo))
	status, err := answer.ReadString('\n')
	if err != nil {
		return fail(err)
	}
	if words := strings.Fields(status); len(words) < 2 || words[1] != "200" {
		return fail(fmt.Errorf("it says %q", strings.TrimSpace(status)))
	}
	for line := status; strings.TrimSpace(line) != ""; {
		if line, err = answer.ReadString('\n'); err != nil {
			return fail(err)
		}
	}
	var i info
	if err := json.NewDecoder(answer).Decode(&i); err != nil {
		return fail(err)
	}
	return i, nil
}
