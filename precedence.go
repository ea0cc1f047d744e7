package toolsource

// Precedence decides which layer keeps a name that several layers have: the higher one.
type Precedence int

// The levels. Host files have 4, 3, 2, 1, 1, ... for file 0, 1, 2, 3, 4, ...; HostFile gives them.
const (
	PrecedenceHostConfig Precedence = 4
	PrecedenceMCP        Precedence = 5
	PrecedenceVirtual    Precedence = 7
	PrecedenceDefault    Precedence = 10
	PrecedenceUser       Precedence = 20
)

// HostFile is the precedence and the Order of the i-th host file, from 0: an earlier file always wins.
func HostFile(i int) (Precedence, int) {
	return max(1, PrecedenceHostConfig-Precedence(i)), -i
}
