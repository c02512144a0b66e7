// Exported: a module whose names are to be found before those of Foundation has to export it.
@_exported import Foundation

/// The behaviour of predicates and expressions, which the framework that parses and evaluates formats supplies.
///
/// The classes of this module are found by name where Foundation has a class of the same name. They have no framework below
/// them, and ask for the behaviour at run time.
package protocol PredicateBehavior {
    /// The canonical format.
    var formatText: String { get }
    /// Returns a Boolean value that indicates whether another object says the same.
    func saysTheSame(as other: Any?) -> Bool
}

/// The behaviour of a predicate that can be evaluated.
package protocol EvaluatedPredicateBehavior: PredicateBehavior {
    /// Returns a Boolean value that indicates whether an object meets the predicate.
    func isMet(by object: Any?) -> Bool
}
