package peer

// KunlunxinScore is Kunlunxin's score of a node for a job that changes MTF, the
// jobs that would fill the node, by so many (NodeScore.Jobs): 2000 for one fewer,
// 1000 for as many, 0 for one more and -1000 for two more. A job that saves two,
// of which the table says nothing, goes on in the same steps.
func KunlunxinScore(jobs int) int { return 1000 - 1000*jobs }

// HAMiKunlunxinScore is the same in HAMi's copy of the table, which is higher by
// 1000: 3000, 2000, 1000 and 0. There a job that saves two gets no more than one
// that costs one; here it gets what it saves.
func HAMiKunlunxinScore(jobs int) int { return KunlunxinScore(jobs) + 1000 }
