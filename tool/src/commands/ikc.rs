//! `shimos ikc`

use serde_json::json;

use crate::cli;
use crate::error::Result;
use crate::ikc::view::View;
use crate::ui::output;

/// Print who is there, all queues, and the shared area.
pub fn run(args: &cli::Json) -> Result<()> {
    let view = View::read()?;
    if args.json {
        return output::json(&json!({
            "kernels": view.kernels_json(),
            "queues": view.all_json(),
            "area": view.area_json(),
        }));
    }
    output::line(text(&view))
}

fn text(view: &View) -> String {
    let queues = match view.table_of_all() {
        none if none.is_empty() => "no queues are open".into(),
        table => table,
    };
    format!(
        "{}\n\n{queues}\n\nshared area: {}",
        view.kernel_table(),
        view.area_text()
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ikc::view;

    #[test]
    fn all_of_it() {
        let mut view = view::example();
        let shown = text(&view);
        assert!(shown.starts_with("NUMBER  NAME  STATE\n"));
        assert!(shown.contains("\n\nDIRECTION    QUEUE "));
        assert!(shown.ends_with("\n\nshared area: 2 MiB, 68 KiB used in 12 blocks"));
        view.queues.clear();
        assert!(text(&view).contains("\n\nno queues are open\n\n"));
    }
}
