pub fn print(_: &broadloom_ir::graph::CheckedGraph) -> String {
    String::new()
}
pub fn signature(_: &broadloom_ir::graph::CheckedGraph) -> String {
    String::new()
}
