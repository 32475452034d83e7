// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"

	"github.com/metax-ctk/container-toolkit/test/bench/internal/figure"
	"github.com/metax-ctk/container-toolkit/test/bench/internal/stopwatch"
)

const (
	wrapperRounds = 200
	// noClient has metax-docker become a client that ends at once.
	noClient = "METAX_CTK_DOCKER=/e2e/nothing"
)

// wrapper is the time that metax-docker takes until it becomes the client, beside that of
// the client alone; and what the daemon takes of it.
func wrapper(container []string) (figure.Set, error) {
	forget, err := reconcile("/")
	if err != nil {
		return nil, err
	}
	restore, err := bareRunc()
	if err != nil {
		return nil, err
	}
	cases := []stopwatch.Case{stopwatch.Process("client", nil, nothing), {Name: "info", Run: info}}
	for _, b := range builds() {
		argv := append([]string{b.dir + "metax-docker", "run", "--rm", "--gpus=4"}, container...)
		cases = append(cases,
			stopwatch.Process(b.prefix+"none", []string{noClient}, b.dir+"metax-docker", "ps"),
			after(forget, stopwatch.Process(b.prefix+"gpus", []string{noClient}, argv...)))
	}
	r, err := timed(wrapperRounds, cases...)
	if err = errors.Join(err, restore(), forget()); err != nil {
		return nil, err
	}
	return figure.Set{
		"wrapper/none": r.Added("none", "client"), "wrapper/gpus": r.Added("gpus", "client"), "engine/info": r.Wall("info"),
	}, nil
}

// info asks the daemon what metax-docker asks it.
func info() (int64, error) {
	conn, err := net.Dial("unix", "/var/run/docker.sock")
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "GET /info HTTP/1.0\r\nHost: docker\r\n\r\n"); err != nil {
		return 0, err
	}
	answer, err := io.ReadAll(conn)
	if err == nil && !bytes.Contains(answer, []byte("metax-tech.com/gpu=")) {
		err = fmt.Errorf("the daemon does not list the GPUs:\n%s", answer)
	}
	return 0, err
}
