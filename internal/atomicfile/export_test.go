package atomicfile

var SyncDir = syncDir
