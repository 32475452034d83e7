// SPDX-License-Identifier: Apache-2.0

package scrape

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/metax-ctk/container-toolkit/test/testfile"
)

// fetched returns the directory of prometheus and promtool.
func fetched(t *testing.T) string {
	t.Helper()
	var stderr bytes.Buffer
	c := exec.Command("./fetch")
	c.Stderr = &stderr
	out, err := c.Output()
	if err != nil {
		t.Fatalf("fetch Prometheus: %v\n%s", err, stderr.String())
	}
	return strings.TrimSpace(string(out))
}

// camelCase is what promtool says of the vendor's labels, which nothing can change.
const camelCase = "label names should be written in 'snake_case' not 'camelCase'"

// check lets promtool check the rules and what the nodes serve.
func check(t *testing.T, promtool string, nodes ...string) {
	t.Helper()
	if out, err := exec.Command(promtool, "check", "rules", filepath.Join(files, "rules.yaml"), filepath.Join(files, "operator-rules.yaml")).CombinedOutput(); err != nil {
		t.Errorf("promtool check rules: %v\n%s", err, out)
	}
	for _, address := range nodes {
		answer, err := http.Get(address)
		if err != nil {
			t.Fatal(err)
		}
		c := exec.Command(promtool, "check", "metrics")
		c.Stdin = answer.Body
		out, err := c.CombinedOutput()
		answer.Body.Close()
		for line := range strings.Lines(string(out)) {
			if !strings.HasPrefix(line, "mx_") || !strings.Contains(line, camelCase) {
				t.Errorf("promtool check metrics: %v: %s", err, line)
			}
		}
	}
}

// server is the address of a Prometheus.
type server string

// start starts Prometheus and returns when it has scraped all nodes some times, as rates need.
// It scrapes them as a PodMonitor with honorLabels makes it: with the labels of the exporter's
// pod, which give way to those of the exporter.
func start(t *testing.T, program string, nodes map[string]string) server {
	t.Helper()
	dir := t.TempDir()
	rules, err := filepath.Abs(filepath.Join(files, "rules.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	config := fmt.Sprintf("global: {scrape_interval: 1s, evaluation_interval: 1s}\nrule_files: [%q]\nscrape_configs:\n- job_name: metax-mx-exporter\n  honor_labels: true\n  metrics_path: /\n  static_configs:\n", rules)
	for name, address := range nodes {
		config += fmt.Sprintf("  - targets: [%q]\n    labels: {node: %q, namespace: metax-gpu-extensions, pod: metax-exporter-x, container: exporter}\n", strings.TrimPrefix(address, "http://"), name)
	}
	testfile.Write(t, filepath.Join(dir, "prometheus.yml"), config, 0o644)
	address := freeAddress(t)
	var log bytes.Buffer
	c := exec.Command(program, "--config.file", filepath.Join(dir, "prometheus.yml"), "--storage.tsdb.path", filepath.Join(dir, "data"), "--web.listen-address", address)
	c.Stdout, c.Stderr = &log, &log
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	t.Cleanup(func() {
		_ = c.Process.Kill()
		<-ended
	})
	at := server("http://" + address)
	for range 1200 { // two minutes
		select {
		case err := <-ended:
			ended <- err
			t.Fatalf("Prometheus ended: %v\n%s", err, log.String())
		case <-time.After(100 * time.Millisecond):
		}
		if up, err := at.get("count(up == 1 and count_over_time(up[5m]) > 3)"); err == nil && len(up) == 1 && up[0].Value[1] == fmt.Sprint(len(nodes)) {
			return at
		}
	}
	t.Fatal("Prometheus did not scrape the nodes")
	return ""
}

// freeAddress returns an address of this machine on which nobody listens.
func freeAddress(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(http.NotFoundHandler())
	defer s.Close()
	return strings.TrimPrefix(s.URL, "http://")
}

// series is one of an answer; Value is a time and a number as text.
type series struct {
	Metric map[string]string
	Value  [2]any
}

// query returns the answer to a query as soon as it has a series, because a busy machine may
// need more scrapes for that than start waits for; nil after a minute.
func (s server) query(t *testing.T, query string) (found []series) {
	t.Helper()
	for range 600 {
		var err error
		if found, err = s.get(query); err != nil {
			t.Fatalf("%s: %v", query, err)
		}
		if len(found) > 0 {
			return found
		}
		time.Sleep(100 * time.Millisecond)
	}
	return nil
}

func (s server) get(query string) ([]series, error) {
	answer, err := http.Get(string(s) + "/api/v1/query?query=" + url.QueryEscape(query))
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return nil, err
	}
	var result struct {
		Status, Error string
		Data          struct{ Result []series }
	}
	if err := json.Unmarshal(text, &result); err != nil {
		return nil, fmt.Errorf("%w: %s", err, text)
	}
	if result.Status != "success" {
		return nil, fmt.Errorf("%s", result.Error)
	}
	return result.Data.Result, nil
}
