import CloudKit
import Foundation
import Testing

/// The same names where CloudKit is imported in front of Foundation.
@Suite(.timeLimit(.minutes(20))) struct PredicatePartsOrderTests {
    @Test func `names that Foundation also has are those of CloudKit in either order of imports`() {
        let comparison = NSComparisonPredicate(
            leftExpression: NSExpression(forKeyPath: "a"), rightExpression: NSExpression(forConstantValue: 1),
            modifier: .direct, type: .equalTo)
        let both = NSCompoundPredicate(andPredicateWithSubpredicates: [comparison, NSPredicate(format: "b = 2")])
        #expect(both.subpredicates.allSatisfy { $0 is NSComparisonPredicate })
        #expect(both.evaluate(with: ["a": 1, "b": 2]))
    }
}
