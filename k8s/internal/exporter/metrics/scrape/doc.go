// SPDX-License-Identifier: Apache-2.0

// Package scrape has only a test: Debian's Prometheus scrapes simulated nodes, and every query
// of the dashboard and every alert finds series there. The script fetch gets Prometheus.
package scrape
