//! From the parser's tree to ours.

use std::time::{Duration, SystemTime};

use promql_parser::label::{MatchOp, Matcher as ParsedMatcher};
use promql_parser::parser::token::{self, TokenType};
use promql_parser::parser::value::ValueType;
use promql_parser::parser::{
    self, AtModifier, BinModifier, LabelModifier, Offset, VectorMatchCardinality, VectorSelector,
};

use crate::error::Problem;
use crate::expr::{
    Aggregate, Aggregation, Arithmetic, At, Binary, Call, Comparison, Expr, Grouping, Labels,
    Matcher, Matching, Operator, Relation, Selector, SetOperator, Subquery, Type, When,
};
use crate::pattern;

/// What a parsed expression says, unless a cluster's Prometheus would refuse it.
pub(crate) fn expr(parsed: &parser::Expr) -> Result<Expr, Problem> {
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
        parser::Expr::Subquery(found) => Expr::Subquery(Subquery {
            of: boxed(&found.expr)?,
            range: found.range,
            step: found.step,
            when: when(found.at.as_ref(), found.offset.as_ref()),
        }),
        parser::Expr::Extension(found) => {
            return Err(Problem::Experimental { what: found.expr.name().to_owned() });
        }
    })
}

fn boxed(parsed: &parser::Expr) -> Result<Box<Expr>, Problem> {
    expr(parsed).map(Box::new)
}

fn selector(parsed: &VectorSelector, range: Option<Duration>) -> Result<Selector, Problem> {
    if !parsed.matchers.or_matchers.is_empty() {
        return Err(Problem::OrBetweenLabels);
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

fn matcher(parsed: &ParsedMatcher) -> Result<Matcher, Problem> {
    let comparison = match &parsed.op {
        MatchOp::Equal => Comparison::Equal,
        MatchOp::NotEqual => Comparison::NotEqual,
        MatchOp::Re(_) => Comparison::Matches,
        MatchOp::NotRe(_) => Comparison::DoesNotMatch,
    };
    let value = parsed.value.clone();
    let regex = match comparison {
        Comparison::Equal | Comparison::NotEqual => None,
        Comparison::Matches | Comparison::DoesNotMatch => {
            let refused = |reason| Problem::Regex { pattern: value.clone(), reason };
            Some(pattern::compile(&value).map_err(refused)?)
        }
    };
    Ok(Matcher { label: parsed.name.clone(), comparison, value, regex })
}

fn when(at: Option<&AtModifier>, offset: Option<&Offset>) -> When {
    let at = at.map(|at| match at {
        AtModifier::Start => At::Start,
        AtModifier::End => At::End,
        AtModifier::At(time) => At::Milliseconds(milliseconds(*time)),
    });
    let (earlier, later) = match offset {
        None => (Duration::ZERO, Duration::ZERO),
        Some(Offset::Pos(earlier)) => (*earlier, Duration::ZERO),
        Some(Offset::Neg(later)) => (Duration::ZERO, *later),
    };
    When { at, earlier, later }
}

fn milliseconds(time: SystemTime) -> i64 {
    let whole = |duration: Duration| i64::try_from(duration.as_millis()).unwrap_or(i64::MAX);
    match time.duration_since(SystemTime::UNIX_EPOCH) {
        Ok(after) => whole(after),
        Err(before) => -whole(before.duration()),
    }
}

fn binary(parsed: &parser::BinaryExpr) -> Result<Binary, Problem> {
    if parsed.modifier.as_ref().is_some_and(fills) {
        return Err(Problem::Experimental { what: "fill".to_owned() });
    }
    Ok(Binary {
        left: boxed(&parsed.lhs)?,
        right: boxed(&parsed.rhs)?,
        operator: operator(parsed.op, parsed.return_bool())?,
        matching: matching(parsed.modifier.as_ref()),
    })
}

fn fills(modifier: &BinModifier) -> bool {
    modifier.fill_values.lhs.is_some() || modifier.fill_values.rhs.is_some()
}

fn operator(parsed: TokenType, bool: bool) -> Result<Operator, Problem> {
    let compare = |relation| Operator::Compare { relation, bool };
    Ok(match parsed.id() {
        token::T_ADD => Operator::Arithmetic(Arithmetic::Add),
        token::T_SUB => Operator::Arithmetic(Arithmetic::Subtract),
        token::T_MUL => Operator::Arithmetic(Arithmetic::Multiply),
        token::T_DIV => Operator::Arithmetic(Arithmetic::Divide),
        token::T_MOD => Operator::Arithmetic(Arithmetic::Modulo),
        token::T_POW => Operator::Arithmetic(Arithmetic::Power),
        token::T_ATAN2 => Operator::Arithmetic(Arithmetic::Atan2),
        token::T_EQLC => compare(Relation::Equal),
        token::T_NEQ => compare(Relation::NotEqual),
        token::T_LSS => compare(Relation::Less),
        token::T_LTE => compare(Relation::LessOrEqual),
        token::T_GTR => compare(Relation::Greater),
        token::T_GTE => compare(Relation::GreaterOrEqual),
        token::T_LAND => Operator::Set(SetOperator::And),
        token::T_LOR => Operator::Set(SetOperator::Or),
        token::T_LUNLESS => Operator::Set(SetOperator::Unless),
        _ => return Err(Problem::Experimental { what: parsed.to_string() }),
    })
}

fn matching(parsed: Option<&BinModifier>) -> Matching {
    let labels = parsed.and_then(|modifier| modifier.matching.as_ref());
    let grouping = match parsed.map(|modifier| &modifier.card) {
        Some(VectorMatchCardinality::ManyToOne(labels)) => Grouping::Left(labels.labels.clone()),
        Some(VectorMatchCardinality::OneToMany(labels)) => Grouping::Right(labels.labels.clone()),
        _ => Grouping::None,
    };
    Matching { labels: labels.map_or(Labels::Except(Vec::new()), self::labels), grouping }
}

fn labels(parsed: &LabelModifier) -> Labels {
    match parsed {
        LabelModifier::Include(labels) => Labels::Only(labels.labels.clone()),
        LabelModifier::Exclude(labels) => Labels::Except(labels.labels.clone()),
    }
}

fn aggregate(parsed: &parser::AggregateExpr) -> Result<Aggregate, Problem> {
    Ok(Aggregate {
        operation: aggregation(parsed.op)?,
        parameter: parsed.param.as_deref().map(boxed).transpose()?,
        of: boxed(&parsed.expr)?,
        by: parsed.modifier.as_ref().map_or(Labels::Only(Vec::new()), labels),
    })
}

fn aggregation(parsed: TokenType) -> Result<Aggregation, Problem> {
    Ok(match parsed.id() {
        token::T_AVG => Aggregation::Average,
        token::T_BOTTOMK => Aggregation::BottomK,
        token::T_COUNT => Aggregation::Count,
        token::T_COUNT_VALUES => Aggregation::CountValues,
        token::T_GROUP => Aggregation::Group,
        token::T_MAX => Aggregation::Max,
        token::T_MIN => Aggregation::Min,
        token::T_QUANTILE => Aggregation::Quantile,
        token::T_STDDEV => Aggregation::StandardDeviation,
        token::T_STDVAR => Aggregation::StandardVariance,
        token::T_SUM => Aggregation::Sum,
        token::T_TOPK => Aggregation::TopK,
        _ => return Err(Problem::Experimental { what: parsed.to_string() }),
    })
}

fn call(parsed: &parser::Call) -> Result<Call, Problem> {
    if parsed.func.experimental {
        return Err(Problem::Experimental { what: parsed.func.name.to_owned() });
    }
    Ok(Call {
        function: parsed.func.name.to_owned(),
        arguments: parsed
            .args
            .args
            .iter()
            .map(|argument| expr(argument))
            .collect::<Result<_, _>>()?,
        returns: match parsed.func.return_type {
            ValueType::Scalar => Type::Scalar,
            ValueType::Vector => Type::Vector,
            ValueType::Matrix => Type::Range,
            ValueType::String => Type::Text,
        },
    })
}
