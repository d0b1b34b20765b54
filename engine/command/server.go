package command

var serverFamily = []*Spec{}
