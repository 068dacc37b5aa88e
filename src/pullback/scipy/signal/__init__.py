"""`scipy.signal` with derivatives: filters by signals and coefficients, designs by their numbers, spectra, windows."""

from pullback.scipy import _replay, _surface, _twins

_twins.declare_existing("signal")

from pullback.scipy.signal import _filters as _filters  # noqa: E402 -- after the twins, whose meaning these widen
from pullback.scipy.signal import _systems as _systems  # noqa: E402

_replay.declare_replayed(
    "signal",
    "abcd_normalize bessel bilinear_zpk butter cheb1ap cheb2ap cheby1 cheby2 chirp coherence cont2discrete csd "
    "cspline1d czt decimate deconvolve ellip envelope filtfilt firls firwin firwin2 firwin_2d freqs "
    "freqs_zpk freqz freqz_sos freqz_zpk gauss_spline gausspulse get_window group_delay hilbert2 iircomb iirdesign "
    "iirfilter iirnotch iirpeak invres invresz istft kaiser_atten kaiser_beta lombscargle lp2bp "
    "lp2bp_zpk lp2bs lp2bs_zpk lp2hp lp2hp_zpk lp2lp lp2lp_zpk minimum_phase normalize oaconvolve "
    "qspline1d resample_poly residue residuez savgol_coeffs sawtooth sos2tf sos2zpk sosfilt_zi sosfiltfilt sosfreqz "
    "spectrogram ss2tf ss2zpk stft sweep_poly tf2sos tf2ss tf2zpk vectorstrength wiener zoom_fft zpk2sos zpk2ss "
    "zpk2tf buttord cheb1ord cheb2ord ellipord",
    by="signals, coefficients and frequencies",
)
_surface.constant(*(f"signal.{_name}" for _name in (
    "argrelextrema", "argrelmax", "argrelmin", "check_COLA", "check_NOLA", "choose_conv_method",
    "correlation_lags", "find_peaks", "find_peaks_cwt", "findfreqs", "max_len_seq", "unit_impulse",
)))  # fmt: skip
_surface.refuse("which roots are one is found by distances; take the mean of those", "signal.unique_roots")
_surface.refuse("it is found by a search without an equation here", "signal.remez", "signal.place_poles",
                "signal.closest_STFT_dual_window")  # fmt: skip

__getattr__, __dir__ = _surface.attach(globals())

__all__ = _surface.declared_names("signal")
