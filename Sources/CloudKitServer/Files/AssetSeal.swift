import CloudKitAccounts
import CloudKitRecordLayer

/// Seals the permissions and receipts of files that clients bring back unchanged: only this cloud can make one, or see its content.
package struct AssetSeal: Sendable {
    /// The purpose of a sealed text; one kind is never taken for another.
    package enum Kind: String, Sendable, CaseIterable {
        /// In the URL of an upload.
        case upload
        /// In an asset dictionary that is to be saved.
        case receipt
        /// In the URL of a download.
        case download
    }

    private let upload: SealedTokenCodec
    private let receipt: SealedTokenCodec
    private let download: SealedTokenCodec

    private static let textBytesMax = 8192

    /// Creates the seal with keys derived from the cloud's secret.
    package init(_ serverEnvironment: ServerEnvironment) {
        func codec(_ kind: Kind) -> SealedTokenCodec {
            SealedTokenCodec(purpose: "welkin asset \(kind.rawValue) 1", in: serverEnvironment)
        }
        upload = codec(.upload)
        receipt = codec(.receipt)
        download = codec(.download)
    }

    private func codec(_ kind: Kind) -> SealedTokenCodec {
        switch kind {
        case .upload: upload
        case .receipt: receipt
        case .download: download
        }
    }

    /// Returns the sealed text: letters, digits, `-` and `_`.
    func seal(_ content: [UInt8], as kind: Kind) throws -> String {
        try codec(kind).sealText(content)
    }

    /// Returns the content, or nil for a text that was not sealed here as this kind.
    func open(_ text: String, as kind: Kind) -> ValueReader? {
        codec(kind).openText(text, bytesMax: Self.textBytesMax).map { ValueReader($0, of: .asset) }
    }
}
