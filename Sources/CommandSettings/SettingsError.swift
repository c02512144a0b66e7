/// A setting that a command cannot use.
package enum SettingsError: Error, Hashable, Sendable {
    /// No option has the name on this line of the file.
    case unknownName(String, line: Int, nearest: String?)
    /// A flag is set to something other than on or off.
    case notAFlag(place: String)
    /// An option that is given once is set to a list.
    case notOneValue(String, line: Int)
    /// An option with a value is set to true or false.
    case notAText(String, line: Int)
}

extension SettingsError: CustomStringConvertible {
    /// A textual form of the value, for people.
    package var description: String {
        switch self {
        case .unknownName(let name, let line, let nearest):
            "line \(line): there is no setting `\(name)`" + (nearest.map { "; did you mean `\($0)`?" } ?? "")
        case .notAFlag(let place): "\(place) is on or off: use true or false"
        case .notOneValue(let name, let line): "line \(line): `\(name)` has one value, not a list"
        case .notAText(let name, let line): "line \(line): `\(name)` has a value; write it in quotes"
        }
    }
}
