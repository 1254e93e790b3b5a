//! The story of 4.7.4: what the maintainers of graph-data say about it, for those who tell parts of
//! what comes of that.

/// The three block files, each with its place in graph-data.
pub const BLOCKS: [(&str, &str); 3] = [
    (
        "blocked-edges/4.7.4-auth-connection-leak.yaml",
        r#"to: 4.7.4
from: 4\.6\..*
url: https://bugzilla.redhat.com/show_bug.cgi?id=1941840#c33
name: AuthOAuthProxyLeakedConnections
message: On clusters with a Proxy configured, the authentication operator may keep many oauth-server connections open, resulting in high memory consumption by the authentication operator and router pods.
matchingRules:
- type: PromQL
  promql:
    promql: max(cluster_proxy_enabled{type=~"https?"})
"#,
    ),
    (
        "blocked-edges/4.7.4-vsphere-hostnames-changing.yaml",
        r#"to: 4.7.4
from: .*
url: https://bugzilla.redhat.com/show_bug.cgi?id=1942207#c3
name: VSphereNodeNameChanges
message: vSphere clusters leveraging the vSphere cloud provider may lose node names which can have serious impacts on the stability of the control plane and workloads.
matchingRules:
- type: PromQL
  promql:
    promql: |
      cluster_infrastructure_provider{type=~"VSphere|None"}
      or
      0 * cluster_infrastructure_provider
"#,
    ),
    (
        "blocked-edges/4.7.4-vsphere-hw-17-cross-node-networking.yaml",
        r#"to: 4.7.4
from: 4\.6\..*
url: https://access.redhat.com/solutions/5896081
name: VSphereHW14CrossNodeNetworkingError
message: Clusters on vSphere Virtual Hardware Version 14 and later may experience cross-node networking issues.
matchingRules:
- type: PromQL
  promql:
    promql: |
      cluster_infrastructure_provider{type=~"VSphere|None"}
      or
      0 * cluster_infrastructure_provider
"#,
    ),
];
