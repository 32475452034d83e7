// SPDX-License-Identifier: Apache-2.0

package scrape

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/metax-ctk/container-toolkit/test/simtest"
	"github.com/metax-ctk/container-toolkit/test/testfile"
)

// vendorValues are what the queries for GPU 0 of gpu-good, or the slice of gpu-sliced, have to
// give, by the metric. Where a query has several series, each of them has this value.
var vendorValues = map[string]string{
	"mx_gpu_usage": "50", "mx_board_core_temp": "58", "mx_board_power": "203000", "mx_chip_hotspot_temp": "60", "mx_clk_thr": "0",
	"mx_ecc_error_count": "0", "mx_gpu_clock": "1500", "mx_mem_clock": "1600", "mx_mxlk_aer_count": "0", "mx_pci_event": "0",
	"mx_pcie_bridge_speed": "32", "mx_pcie_bridge_width": "16", "mx_pcie_speed": "32", "mx_pcie_width": "16", "mx_ras_count": "2",
	"mx_vpud_clock": "600", "mx_vpue_clock": "600", "mx_vpud_usage": "10", "mx_vpue_usage": "5", "mx_xcore_dpm_level": "5",
	"mx_memory_total": "67108864", "mx_gpu_state": "1", "mx_driver_eid_errors": "8706",
}

// unknown is of the log of the vendor's SDK, which is not read.
var unknown = regexp.MustCompile("^mx_sdk_eid_errors")

// vendorQueries asks what the vendor's dashboards and HAMi-WebUI ask.
func vendorQueries(t *testing.T, at server) {
	t.Helper()
	data := testfile.Read(t, "testdata/vendor-queries.json")
	var queries []struct{ Source, Query string }
	if err := json.Unmarshal(data, &queries); err != nil {
		t.Fatal(err)
	}
	node := simtest.Node(t, working.node)
	good := strings.NewReplacer(
		"$servers", "gpu-good", "$server", "gpu-good", "$device", "0", "$hostname", ".*", "$gpu", ".*", "$sgpu", ".*", "$__rate_interval", "1m",
		"%NODE", "gpu-good", "%UUID", string(node.GPUs[0].UUID), "%SLICEDGPU", "2", "%SLICED", "gpu-sliced", "%NAMESPACE", "team-a", "%POD", "train", "%CONTAINER", "main",
	)
	for _, q := range queries {
		query := q.Query
		switch {
		case strings.Contains(query, `unavailable_reason!=""`):
			query = strings.NewReplacer("$server", "gpu-bad", "$device", "6").Replace(query)
		case strings.Contains(query, "avg(mx_sgpu"):
			query = strings.ReplaceAll(query, "%POD", "infer")
		}
		if list, ok := strings.CutPrefix(query, "label_values("); ok {
			selector, label, ok := cutLast(strings.TrimSuffix(list, ")"), ",")
			if !ok { // of all metrics
				label = selector
				selector = fmt.Sprintf(`{%s!=""}`, label)
			}
			query = fmt.Sprintf(`count by (%s) (%s) > 0`, label, selector)
		}
		query = good.Replace(query)
		t.Run(query, func(t *testing.T) {
			if unknown.MatchString(query) {
				if found, err := at.get(query); err != nil || len(found) > 0 {
					t.Errorf("%s: %v, %v", q.Source, found, err)
				}
				return
			}
			found := at.query(t, query)
			if len(found) == 0 {
				t.Errorf("no series, asked by %s", q.Source)
			}
			name := regexp.MustCompile(`mx_\w+`).FindString(query)
			want := vendorValues[name]
			switch {
			case strings.Contains(query, "gpu-bad"):
				want = "0"
			case strings.Contains(q.Query, "$servers"):
				want = "" // of all GPUs
			}
			for _, s := range found {
				value := fmt.Sprint(s.Value[1])
				switch {
				case strings.HasPrefix(query, "rate("):
					if value == "0" {
						t.Errorf("%v does not rise, asked by %s", s.Metric, q.Source)
					}
				case want != "" && !strings.HasPrefix(query, "count") && value != want:
					t.Errorf("%v is %s, want %s, asked by %s", s.Metric, value, want, q.Source)
				}
			}
		})
	}
}

// cutLast cuts a text at the last separator.
func cutLast(s, separator string) (before, after string, ok bool) {
	if at := strings.LastIndex(s, separator); at >= 0 {
		return s[:at], s[at+len(separator):], true
	}
	return s, "", false
}
