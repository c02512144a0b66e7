import CloudKitHTTP

/// A page of the Console. `ConsolePages` lists all of them.
protocol ConsolePage: Sendable {
    /// The form of its path below `/console`. A page with the parameters `{container}` and `{environment}` is for operators of that
    /// container too; the Console has checked both before the page runs.
    var path: String { get }
    /// The page's heading and title.
    var title: String { get }
    /// The word for the page in the navigation; nil: the page is reached from others.
    var navigation: String? { get }
    /// The operators who see a page without a container.
    var audience: PageAudience { get }
    /// Bytes of the largest form that the page takes.
    var formBytesMax: Int { get }

    /// Returns the page.
    func show(_ request: PageRequest) async throws -> PageResponse

    /// Carries out what a form of the page orders, or shows what it asks for.
    func submit(_ request: PageRequest) async throws -> PageResponse
}

/// The operators who see a page.
enum PageAudience: Hashable, Sendable {
    /// Operators of the whole cloud.
    case operatorsOfAll
    /// Every operator: the page itself leaves out what is not the operator's.
    case everyOperator
}

extension ConsolePage {
    var navigation: String? { nil }
    var audience: PageAudience { .operatorsOfAll }
    var formBytesMax: Int { 65_536 }

    /// Refuses forms.
    func submit(_ request: PageRequest) async throws -> PageResponse { throw PageRequest.noForms }
}
