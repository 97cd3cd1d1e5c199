//! Makes each call go through `crate::send`, and takes out of it what it does for
//! nothing: progenitor's hooks, a header with the version of the description, which the
//! service does not know, and copies of text.

use quote::ToTokens;
use syn::{
    Expr, ExprCall, ExprMethodCall, ExprPath, File, ImplItemFn, Pat, Stmt, Token, parse_quote,
    punctuated::Punctuated,
    visit_mut::{self, VisitMut},
};

use super::super::error::Error;

/// The variable that generated code gathers headers in.
const GATHERED: &str = "header_map";

/// Rewrites all calls of a file.
pub fn rewrite(file: &mut File) -> Result<(), Error> {
    Calls.visit_file_mut(file);
    let mut check = Check(None);
    check.visit_file_mut(file);
    check.0.map_or(Ok(()), Err)
}

fn is_send(function: &ImplItemFn) -> bool {
    function.sig.ident == "send" && function.sig.asyncness.is_some()
}

/// A call that does not go through the transport would be sent unsigned.
struct Check(Option<Error>);

impl VisitMut for Check {
    fn visit_impl_item_fn_mut(&mut self, function: &mut ImplItemFn) {
        let text = function.to_token_stream().to_string();
        let sent = text.matches("crate :: send (").count();
        if is_send(function) && sent != 1 {
            self.0 = Some(Error(format!(
                "a call is not of the form that codegen/rewrite/calls.rs knows: {text}"
            )));
        }
    }
}

struct Calls;

impl VisitMut for Calls {
    fn visit_impl_item_fn_mut(&mut self, function: &mut ImplItemFn) {
        let statements = &mut function.block.stmts;
        statements.retain(|statement| !appends_version(statement) && !is_hook(statement));
        if is_send(function) {
            through_transport(&mut function.block.stmts);
            Plain.visit_block_mut(&mut function.block);
        } else if function.sig.ident == "new" {
            Unset.visit_block_mut(&mut function.block);
        }
        // The other uses: where it is made, and where it is handed over.
        let statements = &mut function.block.stmts;
        if !statements.iter().any(appends) {
            statements.retain(|statement| !declares(statement, GATHERED));
            Without.visit_impl_item_fn_mut(function);
        }
    }
}

/// `let info = OperationInfo { .. }; let result = client.exec(request, &info).await;` and
/// `let response = result?;` become one call.
fn through_transport(statements: &mut Vec<Stmt>) {
    let mut method = None;
    for statement in statements.iter() {
        if let Stmt::Local(local) = statement
            && declares(statement, "info")
            && let Some(init) = &local.init
            && let Expr::Struct(info) = &*init.expr
        {
            method = info.fields.first().map(|field| field.expr.clone());
        }
    }
    let Some(method) = method else { return };
    statements.retain(|statement| !declares(statement, "info") && !declares(statement, "result"));
    for statement in statements {
        if declares(statement, "response") {
            *statement = parse_quote! {
                let response = crate::send(
                    client,
                    request,
                    const { crate::Operation::named(#method).expect("an operation has this method") },
                )
                .await?;
            };
        }
    }
}

/// Whether this is `let name = …` or `let mut name = …`.
fn declares(statement: &Stmt, name: &str) -> bool {
    matches!(statement, Stmt::Local(local)
        if matches!(&local.pat, Pat::Ident(pattern) if pattern.ident == name))
}

/// What is done with the answer, which is read to its end already, and with parts of paths.
struct Plain;

impl VisitMut for Plain {
    fn visit_expr_mut(&mut self, expr: &mut Expr) {
        visit_mut::visit_expr_mut(self, expr);
        let text = expr.to_token_stream().to_string();
        match text.as_str() {
            "response . status ()" => *expr = parse_quote!(response.status),
            "ResponseValue :: from_response (response) . await"
            | "ResponseValue :: from_response :: < types :: ApiError > (response) . await" => {
                *expr = parse_quote!(crate::decode::response(response));
            }
            "ResponseValue :: empty (response)" => {
                *expr = parse_quote!(crate::decode::empty(response));
            }
            "Error :: UnexpectedResponse (response)" => {
                *expr = parse_quote!(Error::UnexpectedResponse(response.into()));
            }
            _ => {}
        }
        if let Expr::MethodCall(call) = expr {
            names_what_is_wrong(call);
        }
        if let Expr::Macro(invoked) = expr
            && invoked.mac.path.is_ident("format")
            && let Ok(mut arguments) = invoked
                .mac
                .parse_body_with(Punctuated::<Expr, Token![,]>::parse_terminated)
        {
            arguments.iter_mut().for_each(without_copies);
            invoked.mac.tokens = arguments.to_token_stream();
        }
    }
}

/// `encode_path(&id.to_string())` becomes `crate::path_segment::Segment(&id)`.
fn without_copies(argument: &mut Expr) {
    if let Expr::Call(ExprCall { func, args, .. }) = argument
        && func.to_token_stream().to_string() == "encode_path"
        && let Some(Expr::Reference(reference)) = args.first()
        && let Expr::MethodCall(ExprMethodCall {
            receiver, method, ..
        }) = &*reference.expr
        && method == "to_string"
    {
        *argument = parse_quote!(crate::path_segment::Segment(&#receiver));
    }
}

/// `id.map_err(Error::InvalidRequest)` says what is wrong with an `id` that was never set.
fn names_what_is_wrong(call: &mut ExprMethodCall) {
    if call.method != "map_err" || arguments(call) != "Error :: InvalidRequest" {
        return;
    }
    if let Expr::Path(ExprPath { path, .. }) = &*call.receiver {
        let name = path.to_token_stream().to_string();
        call.args = parse_quote!(|message| crate::error::invalid(#name, message));
    }
}

fn arguments(call: &ExprMethodCall) -> String {
    call.args.to_token_stream().to_string()
}

/// A value that is not set yet has no message of its own on the heap.
struct Unset;

impl VisitMut for Unset {
    fn visit_expr_mut(&mut self, expr: &mut Expr) {
        let text = expr.to_token_stream().to_string();
        if text.starts_with("Err (") && text.ends_with("was not initialized\" . to_string ())") {
            *expr = parse_quote!(Err(::std::string::String::new()));
            return;
        }
        visit_mut::visit_expr_mut(self, expr);
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

/// `request.headers(header_map)` becomes `request`.
struct Without;

impl VisitMut for Without {
    fn visit_expr_mut(&mut self, expr: &mut Expr) {
        if let Expr::MethodCall(call) = expr
            && call.method == "headers"
            && arguments(call) == GATHERED
        {
            *expr = (*call.receiver).clone();
        }
        visit_mut::visit_expr_mut(self, expr);
    }
}
