// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	"github.com/metax-ctk/container-toolkit/k8s/internal/program/optiontest"
)

func TestPages(t *testing.T) { optiontest.Check(t, flags(), "kubernetes-labels.md") }
