//! Programs that grow line by line.

use broadloom_ir::dtype::DType;
use broadloom_text::{Defined, Limits, Session, Written, signature};

#[test]
fn a_session_and_the_whole_text_are_the_same_program() {
    let lines = [
        "input x: f32[n, 3]",
        "let m = mean(x, axis=0)",
        "let c = x - m",
        "output y = c * c",
        "output m = m",
    ];
    let mut session = Session::new("session", Limits::default());
    for line in lines {
        session.run(line).unwrap();
    }
    assert_eq!(session.lines(), lines.len());
    let whole = broadloom_text::Program::parse("whole", session.text()).unwrap().resolve().unwrap();
    let graph = session.finish().unwrap().graph;
    assert_eq!(broadloom_text::print(&graph), broadloom_text::print(&whole));
    assert_eq!(signature(&graph), "y: f32[n, 3]\nm: f32[3]\n");
}

#[test]
fn names_stand_for_what_they_are() {
    let mut session = Session::new("session", Limits::default());
    session.run("input x: i32[n, 3]").unwrap();
    session.number("scale", DType::F64).unwrap();
    session.run("let a = x * scale\nlet n2 = len(x) + 1\nlet two = 1 + 1\nlet parts = divmod(x, 2)\nlet s = x.shape").unwrap();
    // A float takes the dtype of floats alone.
    assert!(matches!(session.get("a"), Some(Defined::Tensor { dtype: DType::F64, .. })));
    assert!(matches!(session.get("scale"), Some(Defined::Number(DType::F64))));
    let Some(Defined::Size(size)) = session.get("n2") else { panic!("no size") };
    assert_eq!(session.show(&size).to_string(), "n+1");
    assert!(matches!(session.get("two"), Some(Defined::Literal(_))));
    assert!(matches!(session.get("parts"), Some(Defined::Several(2))));
    assert!(matches!(session.get("s"), Some(Defined::Sizes(sizes)) if sizes.len() == 2));
    assert_eq!(session.get("nothing"), None);
}

#[test]
fn mistakes_leave_the_rest_usable() {
    let mut session = Session::new("session", Limits::default());
    session.run("input x: f32[4, 3]").unwrap();
    for wrong in ["let a = x + ", "let a = x[:, :2] + x", "let b = frobnicate(x)", "let d = (((", "output 3"]
    {
        assert!(session.run(wrong).is_err(), "{wrong}");
    }
    assert_eq!(session.get("a"), None);
    session.run("output y = x * 2").unwrap();
    assert_eq!(signature(&session.finish().unwrap().graph), "y: f32[4, 3]\n");
}

#[test]
fn a_program_without_outputs_is_refused_at_the_end() {
    let mut session = Session::new("session", Limits::default());
    session.run("input x: f32[4]").unwrap();
    assert!(session.finish().unwrap_err().to_string().contains("needs an output"));
}

#[test]
fn lines_point_to_where_they_were_written() {
    let mut session = Session::new("session", Limits::default());
    session.run("input x: f32[4]").unwrap();
    session.run("let a = x * 2").unwrap();
    let mistakes = session.run("let b = a + x[:3]").unwrap_err();
    let written = |line: usize| {
        let text = format!("        line {line} = there");
        Some(Written { file: "code.py".into(), line: 10 * line, columns: (9, 4), text })
    };
    let text = format!("{:#}", mistakes.written_at(written));
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(
        lines[1..5],
        ["  --> code.py:30", "   |", "30 |         line 3 = there", "   |         ^^^^"],
        "{text}"
    );
    assert!(text.contains("code.py:20"), "{text}");
}

#[test]
fn declarations_are_numbered_apart() {
    let mut session = Session::new("session", Limits::default());
    session.run("input x: f32[4]").unwrap();
    session.begin();
    assert!(session.run("x +").unwrap_err().to_string().starts_with("session:1:4: "));
}
