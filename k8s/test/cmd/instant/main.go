// SPDX-License-Identifier: Apache-2.0

// Command instant is a scheduler extender that answers at once: every node fits, and none is
// better than another. Beside it, a test sees what another extender's answers cost.
//
//	instant ADDRESS
package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"time"
)

// priority is the score of a node, as a scheduler reads it.
type priority struct {
	Host  string
	Score int64
}

func main() {
	server := &http.Server{Addr: os.Args[1], ReadTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var question struct{ NodeNames []string }
		if err := json.NewDecoder(r.Body).Decode(&question); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		var answer any = question
		if r.URL.Path == "/prioritize" {
			scores := make([]priority, len(question.NodeNames))
			for i, name := range question.NodeNames {
				scores[i].Host = name
			}
			answer = scores
		}
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(answer); err != nil {
			fmt.Fprintln(os.Stderr, "instant:", err)
		}
	})}
	fmt.Fprintln(os.Stderr, "instant:", server.ListenAndServe())
	os.Exit(1)
}
