//! Takes out of each call what it does for nothing: the hooks `pre` and `post`, of which
//! `ClientHooks for Client` has only progenitor's empty ones, and a header with the version
//! of the description, which the service does not know.

use quote::ToTokens;
use syn::{
    Expr, ExprMethodCall, ImplItemFn, Stmt,
    visit_mut::{self, VisitMut},
};

/// The variable that generated code gathers headers in.
const GATHERED: &str = "header_map";

pub struct Shorter;

impl VisitMut for Shorter {
    fn visit_impl_item_fn_mut(&mut self, function: &mut ImplItemFn) {
        let statements = &mut function.block.stmts;
        statements.retain(|statement| !appends_version(statement) && !is_hook(statement));
        // The other uses: where it is made, and where it is handed over.
        if statements.iter().any(appends) {
            return;
        }
        statements.retain(|statement| !is_gathered(statement));
        visit_mut::visit_impl_item_fn_mut(&mut Without, function);
    }
}

/// Whether this is `client.pre(…).await?` or `client.post(…).await?`.
fn is_hook(statement: &Stmt) -> bool {
    let text = statement.to_token_stream().to_string();
    ["client . pre (", "client . post ("]
        .iter()
        .any(|hook| text.starts_with(hook))
}

/// Whether a statement puts a header among those that are gathered, perhaps under a condition.
fn appends(statement: &Stmt) -> bool {
    let text = statement.to_token_stream().to_string();
    text.contains(&format!("{GATHERED} . append"))
}

fn appends_version(statement: &Stmt) -> bool {
    matches!(statement, Stmt::Expr(Expr::MethodCall(_), _))
        && appends(statement)
        && statement
            .to_token_stream()
            .to_string()
            .contains("\"api-version\"")
}

/// Whether this is `let mut header_map = …`.
fn is_gathered(statement: &Stmt) -> bool {
    matches!(statement, Stmt::Local(local)
        if matches!(&local.pat, syn::Pat::Ident(pattern) if pattern.ident == GATHERED))
}

/// `request.headers(header_map)` becomes `request`.
struct Without;

impl VisitMut for Without {
    fn visit_expr_mut(&mut self, expr: &mut Expr) {
        if let Expr::MethodCall(ExprMethodCall {
            receiver,
            method,
            args,
            ..
        }) = expr
            && method == "headers"
            && args.to_token_stream().to_string() == GATHERED
        {
            *expr = (**receiver).clone();
        }
        visit_mut::visit_expr_mut(self, expr);
    }
}
