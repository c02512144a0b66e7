// swift-format-ignore-file: OrderedImports

import Foundation
import CloudKit
import Testing

/// Predicates taken apart, as stand-ins for databases in the tests of published libraries do. Foundation is imported in front
/// of CloudKit.
@Suite(.timeLimit(.minutes(20))) struct PredicatePartsTests {
    @Test func `a comparison of a format has its sides, operator, modifier and options`() throws {
        let predicate = NSPredicate(format: "name BEGINSWITH[cd] %@", "Be")
        let comparison = try #require(predicate as? NSComparisonPredicate)
        #expect(comparison.leftExpression.expressionType == .keyPath)
        #expect(comparison.leftExpression.keyPath == "name")
        #expect(comparison.rightExpression.expressionType == .constantValue)
        #expect(comparison.rightExpression.constantValue as? String == "Be")
        #expect(comparison.predicateOperatorType == .beginsWith)
        #expect(comparison.comparisonPredicateModifier == .direct)
        #expect(comparison.options == [.caseInsensitive, .diacriticInsensitive])
        #expect(comparison.predicateFormat == predicate.description)
        let any = try #require(NSPredicate(format: "ANY tags = 'x'") as? NSComparisonPredicate)
        #expect(any.comparisonPredicateModifier == .any && any.predicateOperatorType == .equalTo)
    }

    @Test func `a compound of a format has its parts`() throws {
        let predicate = NSPredicate(format: "a = 1 AND (b = %@ OR NOT c < 2.5)", CKRecord.ID(recordName: "R"))
        let both = try #require(predicate as? NSCompoundPredicate)
        #expect(both.compoundPredicateType == .and && both.subpredicates.count == 2)
        let either = try #require(both.subpredicates.last as? NSCompoundPredicate)
        #expect(either.compoundPredicateType == .or)
        let not = try #require(either.subpredicates.last as? NSCompoundPredicate)
        #expect(not.compoundPredicateType == .not)
        let inner = try #require(not.subpredicates.first as? NSComparisonPredicate)
        #expect(inner.predicateOperatorType == .lessThan)
        #expect(inner.rightExpression.constantValue as? Double == 2.5)
        #expect(predicate.evaluate(with: ["a": 1, "b": "x", "c": 3] as [String: Any]))
        #expect(!predicate.evaluate(with: ["a": 1, "b": "x", "c": 2] as [String: Any]))
        #expect((predicate.copy() as? NSPredicate) === predicate)
        #expect(predicate == NSPredicate(format: "a = 1 AND (b = %@ OR NOT c < 2.5)", CKRecord.ID(recordName: "R")))
    }

    @Test func `expressions have their variable, function, arguments and collection`() throws {
        let list = NSExpression(forAggregate: ["a", NSExpression(forKeyPath: "b")])
        #expect((list.collection as? [NSExpression])?.map(\.expressionType) == [.constantValue, .keyPath])
        #expect(NSExpression(forVariable: "WHEN").variable == "WHEN")
        #expect(NSExpression(forConstantValue: nil).constantValue == nil)
        let place = CLLocation(latitude: 1, longitude: 2)
        let near = NSPredicate(format: "distanceToLocation:fromLocation:(place, %@) < 100", place)
        let function = try #require(near as? NSComparisonPredicate).leftExpression
        #expect(function.expressionType == .function && function.function == "distanceToLocation:fromLocation:")
        #expect(function.arguments?.first?.keyPath == "place")
        #expect(function.arguments?.last?.constantValue as? CLLocation == place)
        #expect(function.operand.expressionType == .evaluatedObject)
    }
}
