package command

// Error replies of commands that wait, and of those that pop a number of elements.
const (
	ErrCountPositive   = "ERR count should be greater than 0"
	ErrTimeoutNotFloat = "ERR timeout is not a float or out of range"
	ErrTimeoutNegative = "ERR timeout is negative"
	ErrTimeoutRange    = "ERR timeout is out of range"
)
