//! The benchmark measures its rows, and plots each of them.

use std::process::Command;

#[test]
fn every_row_is_plotted() {
    let file = std::env::temp_dir().join(format!("dat-floor-{}.svg", std::process::id()));
    let output = Command::new(env!("CARGO_BIN_EXE_dat-floor"))
        .args(["--seconds", "0.2", "--rows", "alone,one-way", "--json", "--plot"])
        .arg(&file)
        .output()
        .expect("the benchmark runs");
    let svg = std::fs::read_to_string(&file);
    let _ = std::fs::remove_file(&file);
    assert!(output.status.success(), "{output:?}");
    let svg = svg.expect("the plot");
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let rows = report["rows"].as_array().expect("rows");
    assert!(rows.len() > 4, "{report}");
    // The background is a rectangle, too.
    assert_eq!(svg.matches("<rect").count(), rows.len() + 1, "{svg}");
    let targets = rows.iter().filter(|row| !row["target"].is_null()).count();
    assert_eq!(svg.matches("stroke-width=\"2\"").count(), targets, "{svg}");
    for row in rows {
        let what = row["what"].as_str().expect("text");
        assert!(svg.contains(&format!(">{what}<")), "{what}");
    }
    assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"), "{svg}");
    assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
}
