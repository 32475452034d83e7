// SPDX-License-Identifier: Apache-2.0

package atomicfile

var SyncDir = syncDir
