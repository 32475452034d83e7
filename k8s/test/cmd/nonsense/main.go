// SPDX-License-Identifier: Apache-2.0

// Command nonsense is a scheduler extender that answers every question wrongly, each in
// another way.
//
//	nonsense ADDRESS
package main

import (
	"fmt"
	"net/http"
	"os"
	"sync/atomic"
	"time"
)

// answers are the wrong ones; status 0 means that there is no answer for longer than a
// scheduler waits.
var answers = []struct {
	status int
	text   string
}{
	{http.StatusOK, "nonsense"},
	{http.StatusOK, `{"NodeNames": ["no-such-node"]}`},
	{http.StatusOK, `{"Error": "nothing fits"}`},
	{http.StatusOK, `[{"Host": "no-such-node", "Score": 10}]`},
	{http.StatusOK, `[{"Host": 1}]`},
	{http.StatusInternalServerError, "{}"},
	{0, ""},
}

func main() {
	var asked atomic.Int64
	server := &http.Server{Addr: os.Args[1], ReadTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a := answers[int(asked.Add(1))%len(answers)]
		if a.status == 0 {
			select {
			case <-r.Context().Done():
			case <-time.After(time.Minute):
			}
			return
		}
		w.WriteHeader(a.status)
		fmt.Fprint(w, a.text)
	})}
	fmt.Fprintln(os.Stderr, "nonsense:", server.ListenAndServe())
	os.Exit(1)
}
