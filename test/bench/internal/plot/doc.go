// Package plot draws lines over a logarithmic axis as SVG. It knows nothing of what they mean.
package plot
