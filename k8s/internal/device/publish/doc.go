// SPDX-License-Identifier: Apache-2.0

// Package publish tells the API server what the node's GPUs are and what becomes of them:
// annotations of the Node for schedulers, a node condition, and an Event for each GPU whose
// health changes.
//
// What is written is a function of Facts. The Node is written by server-side apply with a
// field manager of our own, so that only our keys change, and package cleanup removes what we
// set and nothing else. Changes are joined for a second, because every allocation is one;
// while the API server is away, the newest Facts wait.
package publish
