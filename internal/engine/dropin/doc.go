// SPDX-License-Identifier: Apache-2.0

// Package dropin sets up an engine whose configuration is spread over several TOML
// files, which the engine reads one after the other. It edits only the file that
// belongs to the toolkit. That file begins with engine.Marker; settings that somebody
// else writes into it stay.
//
// A Dialect names one engine's settings and where it differs from other engines; the
// packages crio and podman have one each. This package touches no file.
package dropin
