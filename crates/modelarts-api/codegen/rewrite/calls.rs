//! Rewriting of generated calls: each call is sent through `crate::send`.
//!
//! The rewriting also removes unnecessary work: progenitor's hooks, copies of strings, and a header
//! with the version of the description, which the service does not define.

use quote::ToTokens;
use syn::{
    Expr, ExprCall, ExprMethodCall, ExprPath, File, Ident, ImplItemFn, Item, Pat, PathArguments,
    PathSegment, Stmt, Token, parse_quote,
    punctuated::Punctuated,
    visit_mut::{self, VisitMut},
};

use super::super::error::Error;

/// Name of the variable that collects headers in generated code.
const HEADERS: &str = "header_map";

/// Rewrites all generated calls of a file.
pub fn rewrite(file: &mut File) -> Result<(), Error> {
    let mut calls = RewriteCalls(None);
    calls.visit_file_mut(file);
    file.items.retain(|item| !is_import(item));
    file.items.splice(
        0..0,
        [
            parse_quote!(
                pub use progenitor_client::ClientInfo;
            ),
            // Modules that progenitor generates import `ByteStream` from the root of the file.
            parse_quote!(
                use progenitor_client::ByteStream;
            ),
            parse_quote!(
                use crate::{Error, Response};
            ),
        ],
    );
    RenameTypes.visit_file_mut(file);
    calls.0.map_or(Ok(()), Err)
}

/// Returns whether an item imports progenitor's error and response types.
fn is_import(item: &Item) -> bool {
    matches!(item, Item::Use(_)) && item.to_token_stream().to_string().contains("ResponseValue")
}

/// Visitor that replaces the names of progenitor's error and response types by those of this crate.
struct RenameTypes;

impl VisitMut for RenameTypes {
    fn visit_ident_mut(&mut self, ident: &mut Ident) {
        let name = match ident.to_string().as_str() {
            "ResponseValue" => "Response",
            "InvalidRequest" => "Invalid",
            _ => return,
        };
        *ident = Ident::new(name, ident.span());
    }

    /// Removes the type argument of `Error<types::ApiError>`.
    fn visit_path_segment_mut(&mut self, segment: &mut PathSegment) {
        if segment.ident == "Error" {
            segment.arguments = PathArguments::None;
        }
        visit_mut::visit_path_segment_mut(self, segment);
    }
}

fn is_send(function: &ImplItemFn) -> bool {
    function.sig.ident == "send" && function.sig.asyncness.is_some()
}

/// Visitor that rewrites each call. A call that it cannot rewrite would be sent unsigned, so the
/// visitor stores an error for it.
struct RewriteCalls(Option<Error>);

impl VisitMut for RewriteCalls {
    fn visit_impl_item_fn_mut(&mut self, function: &mut ImplItemFn) {
        let statements = &mut function.block.stmts;
        statements.retain(|statement| !appends_version(statement));
        if is_send(function) {
            if send_through_transport(&mut function.block.stmts).is_none() {
                let text = function.to_token_stream();
                self.0 = Some(Error(format!(
                    "a call is not of the form that codegen/rewrite/calls.rs knows: {text}"
                )));
            }
            ReplaceExpressions.visit_block_mut(&mut function.block);
        } else if function.sig.ident == "new" {
            EmptyMessages.visit_block_mut(&mut function.block);
        }
        // Without added headers, the variable for headers is unused.
        let statements = &mut function.block.stmts;
        if !statements.iter().any(appends) {
            statements.retain(|statement| !declares(statement, HEADERS));
            RemoveHeaders.visit_impl_item_fn_mut(function);
        }
    }
}

/// Replaces progenitor's hooks, sending and decoding, which follow the statement that builds the
/// request. Generated calls then use `crate::send`, which returns only successful responses, and
/// decode these. Returns `None` if the function does not contain the replaced statements.
fn send_through_transport(statements: &mut Vec<Stmt>) -> Option<()> {
    let built = statements
        .iter()
        .position(|item| declares(item, "request"))?;
    let rest = statements.split_off(built + 1);
    let method = rest.iter().find_map(method_name)?;
    let has_body = !rest.iter().any(|item| {
        item.to_token_stream()
            .to_string()
            .contains("ResponseValue :: empty")
    });
    statements.push(parse_quote! {
        let response = crate::send(
            client,
            request,
            const { crate::Operation::find(#method).expect("an operation has this method") },
        )
        .await?;
    });
    let decoded: Expr = match has_body {
        true => parse_quote!(crate::decode_response(client, response)),
        false => parse_quote!(Ok(crate::empty_response(response))),
    };
    statements.push(Stmt::Expr(decoded, None));
    Some(())
}

/// Returns the method name in `let info = OperationInfo { operation_id: .. }`.
fn method_name(statement: &Stmt) -> Option<Expr> {
    if let Stmt::Local(local) = statement
        && declares(statement, "info")
        && let Some(init) = &local.init
        && let Expr::Struct(info) = &*init.expr
    {
        return Some(info.fields.first()?.expr.clone());
    }
    None
}

/// Returns whether this is `let name = …` or `let mut name = …`.
fn declares(statement: &Stmt, name: &str) -> bool {
    matches!(statement, Stmt::Local(local)
        if matches!(&local.pat, Pat::Ident(pattern) if pattern.ident == name))
}

/// Visitor that replaces the encoding of path segments, and adds the parameter name to errors.
struct ReplaceExpressions;

impl VisitMut for ReplaceExpressions {
    fn visit_expr_mut(&mut self, expr: &mut Expr) {
        visit_mut::visit_expr_mut(self, expr);
        if let Expr::MethodCall(call) = expr {
            name_invalid_parameter(call);
        }
        if let Expr::Macro(invoked) = expr
            && invoked.mac.path.is_ident("format")
            && let Ok(mut arguments) = invoked
                .mac
                .parse_body_with(Punctuated::<Expr, Token![,]>::parse_terminated)
        {
            arguments.iter_mut().for_each(encode_without_copy);
            invoked.mac.tokens = arguments.to_token_stream();
        }
    }
}

/// Replaces `encode_path(&id.to_string())` by `crate::path_segment::PathSegment(&id)`.
fn encode_without_copy(argument: &mut Expr) {
    if let Expr::Call(ExprCall { func, args, .. }) = argument
        && func.to_token_stream().to_string() == "encode_path"
        && let Some(Expr::Reference(reference)) = args.first()
        && let Expr::MethodCall(ExprMethodCall {
            receiver, method, ..
        }) = &*reference.expr
        && method == "to_string"
    {
        *argument = parse_quote!(crate::path_segment::PathSegment(&#receiver));
    }
}

/// Adds the name `id` to the error of `id.map_err(Error::InvalidRequest)`, whose message is empty
/// when the parameter was never set.
fn name_invalid_parameter(call: &mut ExprMethodCall) {
    if call.method != "map_err" || arguments(call) != "Error :: InvalidRequest" {
        return;
    }
    if let Expr::Path(ExprPath { path, .. }) = &*call.receiver {
        let name = path.to_token_stream().to_string();
        call.args = parse_quote!(|message| crate::error::invalid_request(#name, message));
    }
}

fn arguments(call: &ExprMethodCall) -> String {
    call.args.to_token_stream().to_string()
}

/// Visitor that replaces the initial error message of a missing value by an empty string, to avoid
/// the allocation.
struct EmptyMessages;

impl VisitMut for EmptyMessages {
    fn visit_expr_mut(&mut self, expr: &mut Expr) {
        let text = expr.to_token_stream().to_string();
        if text.starts_with("Err (") && text.ends_with("was not initialized\" . to_string ())") {
            *expr = parse_quote!(Err(::std::string::String::new()));
            return;
        }
        visit_mut::visit_expr_mut(self, expr);
    }
}

/// Returns whether a statement adds a header, conditionally or not.
fn appends(statement: &Stmt) -> bool {
    let text = statement.to_token_stream().to_string();
    text.contains(&format!("{HEADERS} . append"))
}

fn appends_version(statement: &Stmt) -> bool {
    matches!(statement, Stmt::Expr(Expr::MethodCall(_), _))
        && appends(statement)
        && statement
            .to_token_stream()
            .to_string()
            .contains("\"api-version\"")
}

/// Visitor that replaces `request.headers(header_map)` by `request`.
struct RemoveHeaders;

impl VisitMut for RemoveHeaders {
    fn visit_expr_mut(&mut self, expr: &mut Expr) {
        if let Expr::MethodCall(call) = expr
            && call.method == "headers"
            && arguments(call) == HEADERS
        {
            *expr = (*call.receiver).clone();
        }
        visit_mut::visit_expr_mut(self, expr);
    }
}
