package command

var keyspaceFamily = []*Spec{}
