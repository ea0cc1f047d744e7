package toolsource

import (
	"errors"
	"strings"
)

// User names the person on whose behalf tools are listed and called. There is no empty user: the zero
// User is refused wherever one is asked for. Users are compared with ==. A User never travels in a context.
type User struct{ id string }

// NewUser makes a user from the host's stable id for them; an empty or blank id is an error.
func NewUser(id string) (User, error) {
	if strings.TrimSpace(id) == "" {
		return User{}, errors.New("toolsource: a user needs an id that is not empty")
	}
	return User{id: id}, nil
}

// ID is the id given to NewUser; "" only for the zero User.
func (u User) ID() string { return u.id }

// String is the id.
func (u User) String() string { return u.id }
