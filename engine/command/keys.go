package command

var keyFamily = []*Spec{}
