//! Modules, device files and ports.

use serde_json::json;

use super::tree::{Tree, contains};

#[test]
fn a_machine_with_a_good_infiniband_port_is_fit() {
    let report = Tree::infiniband().report();
    assert_eq!(report.problems(), [""; 0], "{:#}", report.0);
    assert_eq!(report.0["fit"], true);
    let link = report.finding("ports", "mlx5_0 port 1");
    assert_eq!(link["found"], "ACTIVE, InfiniBand, 100 Gb/sec (4X EDR)");
    assert_eq!(link["facts"]["device"], "mlx5_0");
    assert_eq!(link["facts"]["port"], "1");
    assert_eq!(link["facts"]["phys_state"], "LinkUp");
    let gids = report.finding("ports", "mlx5_0 port 1 GIDs");
    assert_eq!(gids["facts"]["gids"], json!(["fe80::2:c903:1:203"]));
    let address = report.finding("ports", "mlx5_0 port 1 address");
    assert_eq!(address["found"], "10.1.2.3 on ib0");
    for module in ["ib_core", "ib_uverbs", "rdma_cm", "rdma_ucm"] {
        assert_eq!(report.finding("modules", module)["facts"]["state"], "loaded");
    }
    for node in ["rdma_cm", "uverbs0"] {
        let node = report.finding("device_files", &format!("/dev/infiniband/{node}"));
        assert_eq!((&node["verdict"], &node["facts"]["mode"]), (&json!("ok"), &json!("0666")));
    }
}

#[test]
fn an_ethernet_port_has_the_addresses_of_its_gids() {
    let report = Tree::roce().report();
    assert_eq!(report.problems(), [""; 0], "{:#}", report.0);
    assert_eq!(report.finding("ports", "rxe0 port 1 address")["found"], "10.0.0.1 on v0");
    contains(&report.finding("ports", "rxe0 port 1 GIDs")["found"], "and 1 more");
}

#[test]
fn a_machine_without_devices_is_fit_and_told_what_it_lacks() {
    let report = Tree::plain().report();
    assert_eq!(report.problems(), [""; 0], "{:#}", report.0);
    for (check, subject) in [("modules", "ib_uverbs"), ("ports", "ports")] {
        assert_eq!(report.finding(check, subject)["verdict"], "note");
    }
    contains(&report.finding("ports", "ports")["advice"], "rdma link add");
    assert_eq!(report.finding("device_files", "/dev/infiniband")["verdict"], "ok");
}

#[test]
fn an_interface_that_is_down_is_named_with_its_command() {
    let tree = Tree::roce();
    tree.port("rxe0", "1: DOWN", "3: Disabled", "Ethernet");
    tree.file("sys/class/net/v0/operstate", "down\n");
    let report = tree.report();
    report.has_problem("ports", "rxe0 port 1", "DOWN, Disabled", "ip link set v0 up");
    let address = report.finding("ports", "rxe0 port 1 address");
    assert_eq!((&address["verdict"], &address["advice"]), (&json!("note"), &json!([])));
    contains(&address["found"], "v0 is down");
    // Of an adapter, the link can be up all the same.
    tree.port("rxe0", "4: ACTIVE", "5: LinkUp", "Ethernet");
    for (state, cure) in [("down", "ip link set v0 up"), ("lowerlayerdown", "check the cable")] {
        tree.file("sys/class/net/v0/operstate", state);
        tree.report().has_problem("ports", "rxe0 port 1 address", state, cure);
    }
}

#[test]
fn a_port_that_is_not_active_has_its_own_cure() {
    for (state, physical, cure) in [
        ("1: DOWN", "2: Polling", "check the cable"),
        ("2: INIT", "5: LinkUp", "opensm"),
        ("3: ARMED", "5: LinkUp", "opensm"),
        ("1: DOWN", "3: Disabled", "enable it"),
        ("1: DOWN", "", "dmesg"),
        ("", "", "dmesg"),
        ("77", "?", "dmesg"),
    ] {
        let tree = Tree::infiniband();
        tree.port("mlx5_0", state, physical, "InfiniBand");
        tree.report().has_problem("ports", "mlx5_0 port 1", "InfiniBand", cure);
    }
}

#[test]
fn a_port_without_gid_has_no_address_on_its_fabric() {
    let tree = Tree::infiniband();
    tree.remove("sys/class/infiniband/mlx5_0/ports/1/gids/0");
    tree.report().has_problem("ports", "mlx5_0 port 1 GIDs", "none", "opensm");
    let tree = Tree::roce();
    tree.remove("sys/class/infiniband/rxe0/ports/1/gids");
    let report = tree.report();
    assert_eq!(report.problems(), ["rxe0 port 1 GIDs", "rxe0 port 1 address"]);
    contains(&report.finding("ports", "rxe0 port 1 GIDs")["advice"], "network interface");
    contains(&report.finding("ports", "rxe0 port 1 address")["found"], "v0 has no IP address");
}

#[test]
fn an_interface_without_address_makes_no_connections() {
    let tree = Tree::infiniband();
    tree.remove("proc/net");
    let advice = "ip address add 192.0.2.1/24 dev ib0";
    let subject = "mlx5_0 port 1 address";
    tree.report().has_problem("ports", subject, "ib0 has no IP address", advice);
    let line = |address| format!("{address} 02 40 20 80      ib0\n");
    tree.file("proc/net/if_inet6", line("fe80000000000000000000fffe000001"));
    tree.report().has_problem("ports", subject, "only 1 link-local one", advice);
    tree.file("proc/net/if_inet6", line("20010db8000000000000000000000007"));
    let report = tree.report();
    assert_eq!(report.problems(), [""; 0]);
    assert_eq!(report.finding("ports", subject)["found"], "2001:db8::7 on ib0");
}

#[test]
fn an_address_belongs_to_the_interface_whose_network_it_is_in() {
    let tree = Tree::infiniband();
    let other = "eth0 0000000A 00000000 0001 0 0 0 000000FF 0 0 0\n";
    if cfg!(target_endian = "little") {
        let routes = std::fs::read_to_string(tree.0.join("proc/net/route")).expect("routes");
        tree.file("proc/net/route", routes.replace("ib0", "eth9") + other);
        let says = "ib0 has no IP address";
        tree.report().has_problem("ports", "mlx5_0 port 1 address", says, "dev ib0");
    }
}

#[test]
fn infiniband_without_interface_needs_ipoib() {
    let tree = Tree::infiniband();
    tree.remove("sys/class/infiniband/mlx5_0/device");
    let says = "no network interface";
    tree.report().has_problem("ports", "mlx5_0 port 1 address", says, "modprobe ib_ipoib");
}

#[test]
fn a_module_that_is_not_loaded_is_a_problem_where_there_is_a_device() {
    let tree = Tree::infiniband();
    tree.remove("sys/module/rdma_ucm");
    tree.report().has_problem("modules", "rdma_ucm", "not loaded", "modprobe rdma_ucm");
    tree.file("proc/sys/kernel/osrelease", "6.1.0\n");
    tree.file("lib/modules/6.1.0/modules.dep", "kernel/net/other.ko.xz: kernel/x.ko\n");
    tree.report().has_problem("modules", "rdma_ucm", "not loaded", "CONFIG_INFINIBAND");
    let path = "kernel/drivers/infiniband/core/rdma_ucm.ko";
    tree.file("lib/modules/6.1.0/modules.dep", format!("{path}.xz: {path}\n"));
    let report = tree.report();
    assert_eq!(report.finding("modules", "rdma_ucm")["facts"]["state"], "available");
    tree.file("lib/modules/6.1.0/modules.builtin", format!("{path}\n"));
    let report = tree.report();
    assert_eq!(report.finding("modules", "rdma_ucm")["found"], "built in");
    assert_eq!(report.problems(), [""; 0]);
}

#[test]
fn a_device_without_node_or_port_is_reported() {
    let tree = Tree::infiniband();
    tree.remove("sys/class/infiniband_verbs/uverbs0");
    let says = "not created a node";
    tree.report().has_problem("device_files", "mlx5_0", says, "modprobe ib_uverbs");
    let tree = Tree::infiniband();
    tree.remove("sys/class/infiniband/mlx5_0/ports");
    tree.report().has_problem("ports", "mlx5_0", "no port", "dmesg");
}
