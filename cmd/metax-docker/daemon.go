package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"
)

// daemonPatience bounds what a daemon that does not answer may cost; docker
// itself will then say what is wrong with it.
const daemonPatience = 2 * time.Second

// maxAnswer bounds an answer in bytes.
const maxAnswer = 8 << 20

// The API versions of the first Docker that knows CDI, 25.0, and of the first
// that has it on by default and lists its devices, 28.2. (Before 1.44 there is
// nothing to ask for.)
const (
	apiCDI     = 44 // 1.44
	apiDefault = 50 // 1.50
)

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
	// assumed is the socket of a daemon whose info follows from its version and
	// its configuration; it has not been asked for it.
	assumed string
}

// errNoDaemon is the answer of no daemon.
var errNoDaemon = errors.New("there is no daemon to ask")

// ask asks the daemon behind the socket in the background; an empty path is a
// client that has no daemon. To answer /info the daemon runs its runtimes for
// their versions, which is most of what a start would cost; so where version and
// configuration leave no doubt, /info is not asked.
func ask(socket string, setup setup) <-chan answer {
	said := make(chan answer, 1)
	if socket == "" {
		said <- answer{err: errNoDaemon}
		return said
	}
	go func() {
		if setup.plain(socket) {
			version, err := apiVersion(socket)
			switch {
			case err != nil:
				said <- answer{err: err}
				return
			case version < apiCDI:
				said <- answer{}
				return
			case version >= apiDefault:
				said <- answer{info: info{CDISpecDirs: setup.specDirs}, assumed: socket}
				return
			}
		}
		said <- told(socket)
	}()
	return said
}

// lists tells whether the daemon resolves all of the names. Where the files do
// not say so, they may be others than those that the daemon reads: it is asked.
func (a answer) lists(names []string) (bool, error) {
	listed, err := a.info.lists(names)
	if listed || a.assumed == "" {
		return listed, err
	}
	asked := told(a.assumed)
	if asked.err != nil {
		return false, asked.err
	}
	return asked.info.lists(names)
}

// told is the daemon's own info.
func told(socket string) (a answer) {
	header, body, err := get(socket, "/info")
	if err == nil {
		err = json.Unmarshal(body, &a.info)
	}
	if err != nil {
		a.err = fmt.Errorf("ask the docker daemon at %s: %w", socket, err)
	}
	if version, ok := minor(header); ok && version >= apiDefault && a.info.DiscoveredDevices == nil {
		a.info.CDISpecDirs = nil // it would list what it finds there, and found nothing
	}
	return a
}

// apiVersion is y of the API version 1.y that the daemon speaks.
func apiVersion(socket string) (int, error) {
	header, _, err := get(socket, "/_ping")
	if err != nil {
		return 0, fmt.Errorf("ask the docker daemon at %s: %w", socket, err)
	}
	version, ok := minor(header)
	if !ok {
		return 0, fmt.Errorf("ask the docker daemon at %s: it does not tell its API version", socket)
	}
	return version, nil
}

// minor finds y of the line "Api-Version: 1.y".
func minor(header string) (int, bool) {
	for line := range strings.Lines(header) {
		name, value, _ := strings.Cut(line, ":")
		text, ok := strings.CutPrefix(strings.TrimSpace(value), "1.")
		if !ok || !strings.EqualFold(name, "Api-Version") {
			continue
		}
		y, err := strconv.Atoi(text)
		return y, err == nil
	}
	return 0, false
}

// get speaks the one sentence of HTTP that this takes, because net/http would
// cost more time at every start of the program than the question does.
func get(socket, path string) (header string, body []byte, err error) {
	conn, err := net.DialTimeout("unix", socket, daemonPatience)
	if err != nil {
		return "", nil, err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(daemonPatience)); err != nil {
		return "", nil, err
	}
	// HTTP/1.0: the answer is not chunked and ends with the connection.
	if _, err := io.WriteString(conn, "GET "+path+" HTTP/1.0\r\nHost: docker\r\n\r\n"); err != nil {
		return "", nil, err
	}
	text, err := io.ReadAll(io.LimitReader(bufio.NewReader(conn), maxAnswer))
	if err != nil {
		return "", nil, err
	}
	head, body, ok := bytes.Cut(text, []byte("\r\n\r\n"))
	status, header, _ := strings.Cut(string(head), "\r\n")
	if words := strings.Fields(status); !ok || len(words) < 2 || words[1] != "200" {
		return "", nil, fmt.Errorf("it says %.80q", status)
	}
	return header, body, nil
}
