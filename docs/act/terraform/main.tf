# The clusters of a pool. provision.py writes `clusters` from what muster decides.
variable "clusters" {
  description = "The clusters that must exist, by name, with the power state that muster asks for."
  type        = map(object({ power_state = string }))
}

# Put the module of your cloud in place of this resource: one cluster for each key, on or off by its power_state.
resource "terraform_data" "cluster" {
  for_each = var.clusters
  input    = each.value.power_state
}

output "clusters" {
  description = "The clusters that exist, by name, with the power state that they have."
  value       = { for name, cluster in terraform_data.cluster : name => cluster.output }
}
