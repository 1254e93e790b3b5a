//! Conversion of the parser's syntax tree.

use std::time::{Duration, SystemTime};

use promql_parser::label::{MatchOp, Matcher as ParsedMatcher};
use promql_parser::parser::token::{self, TokenType};
use promql_parser::parser::value::ValueType;
use promql_parser::parser::{
    self, AtModifier, BinModifier, LabelModifier, Offset, VectorMatchCardinality, VectorSelector,
};

use crate::error::ParseProblem;
use crate::expr::{
    AggregateExpr, AggregationOperator, ArithmeticOperator, AtTime, BinaryExpr, BinaryOperator,
    ComparisonOperator, Expr, ExprType, FunctionCall, GroupModifier, GroupingLabels, MatchType,
    Matcher, Selector, SetOperator, SubqueryExpr, TimeModifiers, VectorMatching,
};
use crate::go_regex;

/// Converts an expression, and rejects constructs that Prometheus does not support by default.
pub(crate) fn expr(parsed: &parser::Expr) -> Result<Expr, ParseProblem> {
    Ok(match parsed {
        parser::Expr::NumberLiteral(number) => Expr::Number(number.val),
        parser::Expr::StringLiteral(text) => Expr::Text(text.val.clone()),
        parser::Expr::Paren(paren) => expr(&paren.expr)?,
        parser::Expr::Unary(unary) => Expr::Negative(boxed(&unary.expr)?),
        parser::Expr::VectorSelector(vector) => Expr::Selector(selector(vector, None)?),
        parser::Expr::MatrixSelector(matrix) => {
            Expr::Selector(selector(&matrix.vs, Some(matrix.range))?)
        }
        parser::Expr::Binary(found) => Expr::Binary(binary(found)?),
        parser::Expr::Aggregate(found) => Expr::Aggregate(aggregate(found)?),
        parser::Expr::Call(found) => Expr::Call(call(found)?),
        parser::Expr::Subquery(found) => Expr::Subquery(SubqueryExpr {
            of: boxed(&found.expr)?,
            range: found.range,
            step: found.step,
            when: when(found.at.as_ref(), found.offset.as_ref()),
        }),
        parser::Expr::Extension(found) => {
            return Err(ParseProblem::Experimental(found.expr.name().to_owned()));
        }
    })
}

fn boxed(parsed: &parser::Expr) -> Result<Box<Expr>, ParseProblem> {
    expr(parsed).map(Box::new)
}

fn selector(parsed: &VectorSelector, range: Option<Duration>) -> Result<Selector, ParseProblem> {
    if !parsed.matchers.or_matchers.is_empty() {
        return Err(ParseProblem::OrBetweenLabels);
    }
    let mut metric = parsed.name.clone();
    let mut matchers = Vec::with_capacity(parsed.matchers.matchers.len());
    for parsed in &parsed.matchers.matchers {
        match (&parsed.op, &metric) {
            (MatchOp::Equal, None) if parsed.name == "__name__" => {
                metric = Some(parsed.value.clone());
            }
            _ => matchers.push(matcher(parsed)?),
        }
    }
    let when = when(parsed.at.as_ref(), parsed.offset.as_ref());
    Ok(Selector { metric, matchers, range, when })
}

fn matcher(parsed: &ParsedMatcher) -> Result<Matcher, ParseProblem> {
    let comparison = match &parsed.op {
        MatchOp::Equal => MatchType::Equal,
        MatchOp::NotEqual => MatchType::NotEqual,
        MatchOp::Re(_) => MatchType::Regexp,
        MatchOp::NotRe(_) => MatchType::NotRegexp,
    };
    let value = parsed.value.clone();
    let regex = match comparison {
        MatchType::Equal | MatchType::NotEqual => None,
        MatchType::Regexp | MatchType::NotRegexp => {
            let error_of = |reason| ParseProblem::Regex { pattern: value.clone(), reason };
            Some(go_regex::compile(&value).map_err(error_of)?)
        }
    };
    Ok(Matcher { label: parsed.name.clone(), comparison, value, regex })
}

fn when(at: Option<&AtModifier>, offset: Option<&Offset>) -> TimeModifiers {
    let at = at.map(|at| match at {
        AtModifier::Start => AtTime::Start,
        AtModifier::End => AtTime::End,
        AtModifier::At(time) => AtTime::Milliseconds(milliseconds(*time)),
    });
    let (earlier, later) = match offset {
        None => (Duration::ZERO, Duration::ZERO),
        Some(Offset::Pos(earlier)) => (*earlier, Duration::ZERO),
        Some(Offset::Neg(later)) => (Duration::ZERO, *later),
    };
    TimeModifiers { at, earlier, later }
}

fn milliseconds(time: SystemTime) -> i64 {
    let whole = |duration: Duration| i64::try_from(duration.as_millis()).unwrap_or(i64::MAX);
    match time.duration_since(SystemTime::UNIX_EPOCH) {
        Ok(after) => whole(after),
        Err(before) => -whole(before.duration()),
    }
}

fn binary(parsed: &parser::BinaryExpr) -> Result<BinaryExpr, ParseProblem> {
    if parsed.modifier.as_ref().is_some_and(fills) {
        return Err(ParseProblem::Experimental("fill".to_owned()));
    }
    Ok(BinaryExpr {
        left: boxed(&parsed.lhs)?,
        right: boxed(&parsed.rhs)?,
        operator: operator(parsed.op, parsed.return_bool())?,
        matching: matching(parsed.modifier.as_ref()),
    })
}

fn fills(modifier: &BinModifier) -> bool {
    modifier.fill_values.lhs.is_some() || modifier.fill_values.rhs.is_some()
}

fn operator(parsed: TokenType, bool: bool) -> Result<BinaryOperator, ParseProblem> {
    let compare = |relation| BinaryOperator::Compare { relation, bool };
    Ok(match parsed.id() {
        token::T_ADD => BinaryOperator::Arithmetic(ArithmeticOperator::Add),
        token::T_SUB => BinaryOperator::Arithmetic(ArithmeticOperator::Subtract),
        token::T_MUL => BinaryOperator::Arithmetic(ArithmeticOperator::Multiply),
        token::T_DIV => BinaryOperator::Arithmetic(ArithmeticOperator::Divide),
        token::T_MOD => BinaryOperator::Arithmetic(ArithmeticOperator::Modulo),
        token::T_POW => BinaryOperator::Arithmetic(ArithmeticOperator::Power),
        token::T_ATAN2 => BinaryOperator::Arithmetic(ArithmeticOperator::Atan2),
        token::T_EQLC => compare(ComparisonOperator::Equal),
        token::T_NEQ => compare(ComparisonOperator::NotEqual),
        token::T_LSS => compare(ComparisonOperator::Less),
        token::T_LTE => compare(ComparisonOperator::LessOrEqual),
        token::T_GTR => compare(ComparisonOperator::Greater),
        token::T_GTE => compare(ComparisonOperator::GreaterOrEqual),
        token::T_LAND => BinaryOperator::Set(SetOperator::And),
        token::T_LOR => BinaryOperator::Set(SetOperator::Or),
        token::T_LUNLESS => BinaryOperator::Set(SetOperator::Unless),
        _ => return Err(ParseProblem::Experimental(parsed.to_string())),
    })
}

fn matching(parsed: Option<&BinModifier>) -> VectorMatching {
    let labels = parsed.and_then(|modifier| modifier.matching.as_ref());
    let grouping = match parsed.map(|modifier| &modifier.card) {
        Some(VectorMatchCardinality::ManyToOne(labels)) => {
            GroupModifier::Left(labels.labels.clone())
        }
        Some(VectorMatchCardinality::OneToMany(labels)) => {
            GroupModifier::Right(labels.labels.clone())
        }
        _ => GroupModifier::None,
    };
    VectorMatching {
        labels: labels.map_or(GroupingLabels::Except(Vec::new()), self::labels),
        grouping,
    }
}

fn labels(parsed: &LabelModifier) -> GroupingLabels {
    match parsed {
        LabelModifier::Include(labels) => GroupingLabels::Only(labels.labels.clone()),
        LabelModifier::Exclude(labels) => GroupingLabels::Except(labels.labels.clone()),
    }
}

fn aggregate(parsed: &parser::AggregateExpr) -> Result<AggregateExpr, ParseProblem> {
    Ok(AggregateExpr {
        operation: aggregation(parsed.op)?,
        parameter: parsed.param.as_deref().map(boxed).transpose()?,
        of: boxed(&parsed.expr)?,
        by: parsed.modifier.as_ref().map_or(GroupingLabels::Only(Vec::new()), labels),
    })
}

fn aggregation(parsed: TokenType) -> Result<AggregationOperator, ParseProblem> {
    Ok(match parsed.id() {
        token::T_AVG => AggregationOperator::Average,
        token::T_BOTTOMK => AggregationOperator::BottomK,
        token::T_COUNT => AggregationOperator::Count,
        token::T_COUNT_VALUES => AggregationOperator::CountValues,
        token::T_GROUP => AggregationOperator::Group,
        token::T_MAX => AggregationOperator::Max,
        token::T_MIN => AggregationOperator::Min,
        token::T_QUANTILE => AggregationOperator::Quantile,
        token::T_STDDEV => AggregationOperator::StandardDeviation,
        token::T_STDVAR => AggregationOperator::StandardVariance,
        token::T_SUM => AggregationOperator::Sum,
        token::T_TOPK => AggregationOperator::TopK,
        _ => return Err(ParseProblem::Experimental(parsed.to_string())),
    })
}

fn call(parsed: &parser::Call) -> Result<FunctionCall, ParseProblem> {
    if parsed.func.experimental {
        return Err(ParseProblem::Experimental(parsed.func.name.to_owned()));
    }
    Ok(FunctionCall {
        function: parsed.func.name.to_owned(),
        arguments: parsed
            .args
            .args
            .iter()
            .map(|argument| expr(argument))
            .collect::<Result<_, _>>()?,
        returns: match parsed.func.return_type {
            ValueType::Scalar => ExprType::Scalar,
            ValueType::Vector => ExprType::Vector,
            ValueType::Matrix => ExprType::Range,
            ValueType::String => ExprType::Text,
        },
    })
}
